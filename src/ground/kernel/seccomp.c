/* SPDX-License-Identifier: Apache-2.0 */
/* A small assembler of classic BPF for system call filters.
 *
 * How it works: the program loads the architecture and refuses a foreign one, loads the number and
 * refuses x32, then holds the rows in the order of their numbers, as the leaves of a tree:
 *
 *         jge  number of the right half's first row, right half, left half
 *         …
 *         jeq  nr, next row, end of block              a block for all rows of one number
 *         [ld argument halves, and mask, jeq value … else next row]  ret errno
 *         …                                             ret otherwise, when all had conditions
 *         …                                             the leaf's other blocks; ret otherwise
 *
 * Jumps of BPF reach 255 instructions and only forward; what would need more is refused. The tree
 * is for the kernel: on installing, since 5.11, it walks through the program once for every
 * number there is, to keep a bitmap of those that it always allows. */

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

#define ROWS_MAX    512
#define JUMP_MAX    255
#define LEAF_BLOCKS 6

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

/* All rows of one number, in the order of the table. */
struct block {
	const struct seccomp_rule **rows;
	size_t count;
};

static int emit_block(struct seccomp_program *p, const struct block *b, int otherwise)
{
	bool falls_through = has_condition(b->rows[b->count - 1]);
	unsigned size = falls_through ? 1 : 0;

	for (size_t i = 0; i < b->count; i++)
		size += row_size(b->rows[i]);
	if (size > JUMP_MAX)
		return -E2BIG;
	emit(p, (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)b->rows[0]->nr, 0, (uint8_t)size));
	for (size_t i = 0; i < b->count; i++) {
		const struct seccomp_rule *r = b->rows[i];
		unsigned end = p->count + row_size(r);

		emit_condition(p, r->arg, r->mask, r->value, end);
		emit_condition(p, r->also_arg, r->also_mask, r->also_value, end);
		emit_return(p, r->error);
	}
	if (falls_through)
		emit_return(p, otherwise);
	return 0;
}

static int emit_tree(
	struct seccomp_program *p, const struct block *blocks, size_t count, int otherwise)
{
	size_t half = count / 2;
	unsigned at = p->count, distance;
	int r = 0;

	if (count <= LEAF_BLOCKS) {
		for (size_t i = 0; i < count && r == 0; i++)
			r = emit_block(p, &blocks[i], otherwise);
		emit_return(p, otherwise);
		return r;
	}
	emit(p, (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JGE | BPF_K, (uint32_t)blocks[half].rows[0]->nr, 0, 0));
	r = emit_tree(p, blocks, half, otherwise);
	distance = p->count - at - 1;
	if (r < 0 || distance > JUMP_MAX || p->count > SECCOMP_CODE_MAX)
		return r < 0 ? r : -E2BIG;
	p->code[at].jt = (uint8_t)distance;
	return emit_tree(p, blocks + half, count - half, otherwise);
}

/* Sorts the rows that there are by number, those of one number staying in order. */
static int sort(const struct seccomp_rule *rules, size_t count, const struct seccomp_rule **sorted,
	size_t *ret_count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = used;

		if (!row_is_sound(&rules[i]))
			return -EINVAL;
		if (rules[i].nr == SECCOMP_NR_ABSENT)
			continue;
		if (used == ROWS_MAX)
			return -E2BIG;
		for (; at > 0 && sorted[at - 1]->nr > rules[i].nr; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &rules[i];
		used++;
	}
	*ret_count = used;
	return 0;
}

int seccomp_build(
	struct seccomp_program *ret, const struct seccomp_rule *rules, size_t count, int otherwise)
{
	const struct seccomp_rule *sorted[ROWS_MAX];
	struct block blocks[ROWS_MAX];
	size_t row_count, block_count = 0;
	int r = sort(rules, count, sorted, &row_count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < row_count; i++) {
		if (i == 0 || sorted[i]->nr != sorted[i - 1]->nr)
			blocks[block_count++] = (struct block){.rows = &sorted[i]};
		blocks[block_count - 1].count++;
	}
	ret->count = 0;
	emit_load(ret, offsetof(struct seccomp_data, arch));
	emit(ret, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	emit_return(ret, ENOSYS);
	emit_load(ret, offsetof(struct seccomp_data, nr));
	if (X32_BIT != 0) {
		emit(ret, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
		emit_return(ret, ENOSYS);
	}
	r = emit_tree(ret, blocks, block_count, otherwise);
	return r == 0 && ret->count > SECCOMP_CODE_MAX ? -E2BIG : r;
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
