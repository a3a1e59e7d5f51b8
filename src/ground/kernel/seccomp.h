/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_SECCOMP_H
#define GROUND_KERNEL_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* System call filters from tables, assembled by us so that they can be built before a clone and
 * installed after it without a library.
 *
 * Rows are tried in order; the first whose number and condition match decides: error 0 lets the
 * call through, any other is its errno. What no row matches gets `otherwise` of seccomp_build().
 * A call of a foreign architecture and, on x86-64, of x32 gets ENOSYS before any row is looked
 * at. Nothing is ever killed: runtimes probe. A row for an int argument (a socket family, an
 * ioctl number) uses SECCOMP_INT as its mask, since the kernel ignores the upper half of the
 * register. */
struct seccomp_rule {
	int nr;           /* __NR_…, or SECCOMP_NR_ABSENT: the row is skipped */
	uint16_t error;   /* 0: allowed */
	uint8_t arg;      /* which argument the condition looks at, 0 to 5 */
	uint64_t mask;    /* 0: no condition */
	uint64_t value;   /* the row matches when (argument & mask) == value */
	uint8_t also_arg; /* a second condition of the same form; both must hold */
	uint64_t also_mask;
	uint64_t also_value;
};

#define SECCOMP_NR_ABSENT (-1)
#define SECCOMP_INT       0xffffffffu

/* clang-format off */
#define SECCOMP_DENY(name, errnum)  { .nr = __NR_##name, .error = (errnum) }
#define SECCOMP_ALLOW(name)         { .nr = __NR_##name, .error = 0 }
#define SECCOMP_DENY_IF(name, argument, bits, equal, errnum) \
	{ .nr = __NR_##name, .error = (errnum), .arg = (argument), .mask = (bits), .value = (equal) }
#define SECCOMP_ALLOW_IF(name, argument, bits, equal) \
	{ .nr = __NR_##name, .error = 0, .arg = (argument), .mask = (bits), .value = (equal) }
#define SECCOMP_DENY_IF_BOTH(name, argument, bits, equal, argument2, bits2, equal2, errnum) \
	{ .nr = __NR_##name, .error = (errnum), .arg = (argument), .mask = (bits), .value = (equal), \
	  .also_arg = (argument2), .also_mask = (bits2), .also_value = (equal2) }
#define SECCOMP_ALLOW_IF_BOTH(name, argument, bits, equal, argument2, bits2, equal2) \
	SECCOMP_DENY_IF_BOTH(name, argument, bits, equal, argument2, bits2, equal2, 0)
/* clang-format on */

/* What the C library's headers of our oldest build machine do not number yet, and what one of our
 * two architectures does not have. */
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#endif
#ifndef __NR_futex_wait
#define __NR_futex_wait 455
#endif
#ifndef __NR_futex_requeue
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#endif
#ifndef __NR_listmount
#define __NR_listmount 458
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif

#define SECCOMP_CODE_MAX 768

struct seccomp_program {
	unsigned short count;
	struct sock_filter code[SECCOMP_CODE_MAX];
};

/* otherwise: what a call that no row names gets, an errno or 0 (allowed). -E2BIG when the table is
 * too long, -EINVAL for a row that could never match. */
int seccomp_build(
	struct seccomp_program *ret, const struct seccomp_rule *rules, size_t count, int otherwise);

/* For this thread and what it starts; needs no_new_privs. -errno. */
int seccomp_install(const struct seccomp_program *p);

int seccomp_probe(void); /* 0 when filters can be installed here, else -errno */

#endif
