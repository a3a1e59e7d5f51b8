#ifndef EXPR_H
#define EXPR_H

#include <stdbool.h>

/* Works out the expression in text. False when it is not an expression or has no answer. */
bool expr_evaluate(const char *text, long *answer);

#endif
