/* SPDX-License-Identifier: Apache-2.0 */
/* A small assembler of classic BPF for system call filters.
 *
 * How it works: the program loads the architecture and refuses a foreign one, loads the number and
 * refuses x32, then holds one block for each run of neighbouring rows with the same number:
 *
 *         jeq  nr, next row, end of block
 *         [ld argument halves, and mask, jeq value … else next row]  ret errno
 *         …                                                           end of block: reload nr
 *
 * Jumps of BPF reach 255 instructions and only forward; a block that would need more is refused.
 * Long lists are not slow: since 5.11 the kernel keeps a bitmap of numbers that every path allows,
 * and looks at the program only for the others. */

#include "ground/kernel/seccomp.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define X32_BIT     0x40000000u
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define X32_BIT     0u
#else
#error "hemra knows the system calls of x86-64 and aarch64"
#endif

static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "argument halves are taken low word first");

static void emit(struct seccomp_program *p, struct sock_filter code)
{
	if (p->count < SECCOMP_CODE_MAX)
		p->code[p->count] = code;
	p->count++; /* counts on past the end, so that the caller sees how much was missing */
}

static void emit_load(struct seccomp_program *p, size_t offset)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void emit_return(struct seccomp_program *p, int error)
{
	uint32_t verdict = error == 0 ? SECCOMP_RET_ALLOW
				      : (SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA));

	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* Instructions of one half of a condition: load, [and], jeq. */
static unsigned half_size(uint32_t mask)
{
	return mask == 0 ? 0 : mask == UINT32_MAX ? 2 : 3;
}

static unsigned condition_size(uint64_t mask)
{
	return half_size((uint32_t)mask) + half_size((uint32_t)(mask >> 32));
}

static unsigned row_size(const struct seccomp_rule *r)
{
	return condition_size(r->mask) + condition_size(r->also_mask) + 1;
}

static bool has_condition(const struct seccomp_rule *r)
{
	return (r->mask | r->also_mask) != 0;
}

/* Compares one half; a mismatch jumps over what is left of the row. */
static void emit_half(
	struct seccomp_program *p, size_t offset, uint32_t mask, uint32_t value, unsigned end)
{
	if (mask == 0)
		return;
	emit_load(p, offset);
	if (mask != UINT32_MAX)
		emit(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
	emit(p, (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, value, 0, (uint8_t)(end - p->count - 1)));
}

static void emit_condition(
	struct seccomp_program *p, unsigned arg, uint64_t mask, uint64_t value, unsigned end)
{
	size_t offset = offsetof(struct seccomp_data, args) + 8 * arg;

	emit_half(p, offset, (uint32_t)mask, (uint32_t)value, end);
	emit_half(p, offset + 4, (uint32_t)(mask >> 32), (uint32_t)(value >> 32), end);
}

static bool row_is_sound(const struct seccomp_rule *r)
{
	return r->arg <= 5 && r->also_arg <= 5 && r->error <= 4095 && (r->value & ~r->mask) == 0 &&
	       (r->also_value & ~r->also_mask) == 0;
}

/* Writes the block of rows[0..count), all of one number; ends with the number loaded again. */
static int emit_block(struct seccomp_program *p, const struct seccomp_rule *rows, size_t count)
{
	bool falls_through = has_condition(&rows[count - 1]);
	unsigned size = falls_through ? 1 : 0;

	for (size_t i = 0; i < count; i++)
		size += row_size(&rows[i]);
	if (size > 255)
		return -E2BIG;
	emit(p, (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rows[0].nr, 0, (uint8_t)size));
	for (size_t i = 0; i < count; i++) {
		unsigned end = p->count + row_size(&rows[i]);

		emit_condition(p, rows[i].arg, rows[i].mask, rows[i].value, end);
		emit_condition(p, rows[i].also_arg, rows[i].also_mask, rows[i].also_value, end);
		emit_return(p, rows[i].error);
	}
	if (falls_through) /* who comes here from a row that did not match holds an argument */
		emit_load(p, offsetof(struct seccomp_data, nr));
	return 0;
}

int seccomp_build(
	struct seccomp_program *ret, const struct seccomp_rule *rules, size_t count, int otherwise)
{
	ret->count = 0;
	emit_load(ret, offsetof(struct seccomp_data, arch));
	emit(ret, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	emit_return(ret, ENOSYS);
	emit_load(ret, offsetof(struct seccomp_data, nr));
	if (X32_BIT != 0) {
		emit(ret, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
		emit_return(ret, ENOSYS);
	}
	for (size_t i = 0, next; i < count; i = next) {
		int r;

		for (next = i; next < count && rules[next].nr == rules[i].nr; next++)
			if (!row_is_sound(&rules[next]))
				return -EINVAL;
		if (rules[i].nr == SECCOMP_NR_ABSENT)
			continue;
		r = emit_block(ret, &rules[i], next - i);
		if (r < 0)
			return r;
	}
	emit_return(ret, otherwise);
	return ret->count <= SECCOMP_CODE_MAX ? 0 : -E2BIG;
}

int seccomp_install(const struct seccomp_program *p)
{
	struct sock_fprog program = {
		.len = p->count,
		.filter = (struct sock_filter *)p->code, /* the kernel only reads it */
	};

	if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return -errno;
	return 0;
}

int seccomp_probe(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0 ? -errno : 0;
}
