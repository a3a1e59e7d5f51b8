#include <stdio.h>
#include <string.h>

#include "expr.h"

int main(void)
{
	char line[4096];
	long answer;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (expr_evaluate(line, &answer))
			printf("%ld\n", answer);
		else
			printf("error\n");
	}
	return 0;
}
