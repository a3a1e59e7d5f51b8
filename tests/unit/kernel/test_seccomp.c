/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler of filters: by running its programs, and by trying the calls in children. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/process.h"
#include "ground/kernel/seccomp.h"

#ifdef __x86_64__
#define HERE      AUDIT_ARCH_X86_64
#define ELSEWHERE AUDIT_ARCH_I386
#else
#define HERE      AUDIT_ARCH_AARCH64
#define ELSEWHERE AUDIT_ARCH_ARM
#endif

/* Runs a program on a call: what the kernel's interpreter would do with the few codes we emit.
 * Returns the errno that comes of it, 0 for allowed. */
static int run(const struct seccomp_program *p, const struct seccomp_data *call)
{
	uint32_t a = 0;

	for (unsigned pc = 0; pc < p->count; pc++) {
		const struct sock_filter *f = &p->code[pc];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(f->k % 4 == 0 && f->k < sizeof(*call));
			a = ((const uint32_t *)call)[f->k / 4];
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= f->k ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return f->k == SECCOMP_RET_ALLOW ? 0 : (int)(f->k & SECCOMP_RET_DATA);
		default:
			fail_msg("code %#x at %u", f->code, pc);
		}
	}
	fail_msg("the program ran past its end");
	return -1;
}

static const struct seccomp_rule rules[] = {
	SECCOMP_DENY(ptrace, EPERM),
	SECCOMP_ALLOW_IF(socket, 0, SECCOMP_INT, AF_UNIX),
	SECCOMP_ALLOW_IF_BOTH(socket, 0, SECCOMP_INT, AF_NETLINK, 2, SECCOMP_INT, 0),
	SECCOMP_DENY(socket, EAFNOSUPPORT),
	SECCOMP_DENY_IF(fchmod, 1, 04000, 04000, EACCES),
	SECCOMP_DENY_IF(lseek, 1, 0xf00000000, 0x500000000, EDOM),
	{.nr = SECCOMP_NR_ABSENT, .error = EIO},
	SECCOMP_DENY(clone3, ENOSYS),
};

static const struct {
	uint32_t arch;
	int nr;
	uint64_t args[3];
	int error;
} cases[] = {
	{HERE, __NR_ptrace, {0}, EPERM},
	{HERE, __NR_read, {0}, 0},
	{HERE, __NR_clone3, {0}, ENOSYS},
	{ELSEWHERE, __NR_read, {0}, ENOSYS},
	{HERE, __NR_socket, {AF_UNIX}, 0},
	/* the kernel takes an int: the upper half does not make another family of it */
	{HERE, __NR_socket, {0xdead00000000ULL | AF_UNIX}, 0},
	{HERE, __NR_socket, {AF_INET}, EAFNOSUPPORT},
	{HERE, __NR_socket, {0x100000000ULL | AF_INET}, EAFNOSUPPORT},
	{HERE, __NR_socket, {AF_NETLINK, 3, 0}, 0},
	{HERE, __NR_socket, {AF_NETLINK, 3, 12}, EAFNOSUPPORT},
	{HERE, __NR_fchmod, {3, 0755}, 0},
	{HERE, __NR_fchmod, {3, 04755}, EACCES},
	{HERE, __NR_fchmod, {3, 02755}, 0},
	{HERE, __NR_lseek, {3, 0x500000007}, EDOM},
	{HERE, __NR_lseek, {3, 0x400000007}, 0},
	{HERE, __NR_lseek, {3, 5}, 0},
#ifdef __x86_64__
	{HERE, (int)(0x40000000u | __NR_read), {0}, ENOSYS},
	{HERE, -1, {0}, ENOSYS},
#endif
};

static void table_decides(void **state)
{
	static struct seccomp_program allow, deny;

	(void)state;
	assert_int_equal(seccomp_build(&allow, rules, array_count(rules), 0), 0);
	assert_int_equal(seccomp_build(&deny, rules, array_count(rules), EXDEV), 0);
	for (size_t i = 0; i < array_count(cases); i++) {
		struct seccomp_data call = {.nr = cases[i].nr,
			.arch = cases[i].arch,
			.args = {cases[i].args[0], cases[i].args[1], cases[i].args[2]}};

		assert_int_equal(run(&allow, &call), cases[i].error);
	}
	/* what no row names: the other default */
	assert_int_equal(run(&deny, &(struct seccomp_data){.nr = __NR_read, .arch = HERE}), EXDEV);
	assert_int_equal(
		run(&deny,
			&(struct seccomp_data){.nr = __NR_socket, .arch = HERE, .args = {AF_UNIX}}),
		0);
}

static void unsound_rows_are_refused(void **state)
{
	static struct seccomp_program p;
	static struct seccomp_rule many[SECCOMP_CODE_MAX];
	struct seccomp_rule never = SECCOMP_DENY_IF(read, 0, 1, 2, EPERM);
	struct seccomp_rule nowhere = SECCOMP_DENY_IF(read, 6, 1, 1, EPERM);

	(void)state;
	assert_int_equal(seccomp_build(&p, &never, 1, 0), -EINVAL);
	assert_int_equal(seccomp_build(&p, &nowhere, 1, 0), -EINVAL);
	for (int i = 0; i < SECCOMP_CODE_MAX; i++)
		many[i] = (struct seccomp_rule){.nr = i, .error = EPERM};
	assert_int_equal(seccomp_build(&p, many, SECCOMP_CODE_MAX, 0), -E2BIG);
	for (int i = 0; i < SECCOMP_CODE_MAX; i++) /* one block over 255 instructions */
		many[i] = (struct seccomp_rule){.nr = 1, .error = EPERM, .mask = 7, .value = i & 7};
	assert_int_equal(seccomp_build(&p, many, 100, 0), -E2BIG);
}

static int try_filter(void *context)
{
	static struct seccomp_program p;

	(void)context;
	if (socket(AF_INET, SOCK_DGRAM, 0) < 0 ||
		seccomp_build(&p, rules, array_count(rules), 0) < 0)
		return 1; /* the control: it works before */
	if (process_no_new_privs() < 0 || seccomp_install(&p) < 0)
		return 2;
	if (socket(AF_INET, SOCK_DGRAM, 0) >= 0 || errno != EAFNOSUPPORT)
		return 3;
	if (socket(AF_UNIX, SOCK_DGRAM, 0) < 0)
		return 4;
	if (syscall(__NR_clone3, NULL, 0) >= 0 || errno != ENOSYS)
		return 5;
	if (fchmod(0, 04755) >= 0 || errno != EACCES)
		return 6;
#ifdef __x86_64__
	if (syscall(0x40000000 | __NR_getpid) >= 0 || errno != ENOSYS)
		return 7;
#endif
	return getpid() > 1 ? 0 : 8;
}

static void kernel_agrees(void **state)
{
	(void)state;
	assert_int_equal(seccomp_probe(), 0);
	assert_int_equal(in_child(try_filter, NULL), 0);
}

int test_seccomp(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_decides),
		cmocka_unit_test(unsound_rows_are_refused),
		cmocka_unit_test(kernel_agrees),
	};

	return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
