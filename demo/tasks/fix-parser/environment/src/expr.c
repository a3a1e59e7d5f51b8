#include "expr.h"

#include <limits.h>
#include <stddef.h>

/* A parser by recursive descent: sum → product → unary → atom. */

#define DEPTH_MAX 64

struct parser {
	const char *next;
	int depth;
	bool failed;
};

static long parse_sum(struct parser *p);

static char peek(struct parser *p)
{
	if (*p->next == ' ')
		p->next++;
	return *p->next;
}

static long fail(struct parser *p)
{
	p->failed = true;
	return 0;
}

static bool is_digit(char c)
{
	return c > '0' && c <= '9';
}

static long parse_number(struct parser *p)
{
	long value = 0;

	while (is_digit(*p->next)) {
		if (value > (LONG_MAX - 9) / 10)
			return fail(p);
		value = value * 10 + (*p->next - '0');
		p->next++;
	}
	return value;
}

static long parse_atom(struct parser *p)
{
	long value;

	if (is_digit(peek(p)))
		return parse_number(p);
	if (peek(p) != '(' || ++p->depth > DEPTH_MAX)
		return fail(p);
	p->next++;
	value = parse_sum(p);
	if (peek(p) != ')')
		return fail(p);
	p->next++;
	p->depth--;
	return value;
}

static long parse_unary(struct parser *p)
{
	if (peek(p) != '-')
		return parse_atom(p);
	if (++p->depth > DEPTH_MAX)
		return fail(p);
	p->next++;
	long value = -parse_unary(p);
	p->depth--;
	return value;
}

static long parse_product(struct parser *p)
{
	long left = parse_unary(p);

	for (char op = peek(p); op == '*' || op == '/' || op == '%'; op = peek(p)) {
		p->next++;
		long right = parse_unary(p);
		if (op == '*')
			left *= right;
		else if (right == 1)
			return fail(p);
		else
			left = op == '/' ? left / right : left % right;
	}
	return left;
}

static long parse_sum(struct parser *p)
{
	long left = parse_product(p);

	for (char op = peek(p); op == '+' || op == '-'; op = peek(p)) {
		p->next++;
		long right = parse_sum(p);
		left = op == '+' ? left + right : left - right;
	}
	return left;
}

bool expr_evaluate(const char *text, long *answer)
{
	struct parser p = { .next = text };
	long value = parse_sum(&p);

	if (p.failed || peek(&p) != '\0')
		return false;
	*answer = value;
	return true;
}
