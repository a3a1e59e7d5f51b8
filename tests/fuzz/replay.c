/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over every file of a corpus: what was found once stays found. */

#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/file.h"
#include "ground/base/own.h"

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	int count = argc == 2 ? scandir(argv[1], &entries, is_input, alphasort) : -1;

	if (count <= 0) {
		(void)fprintf(stderr, "usage: replay DIRECTORY-WITH-INPUTS\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		autofree char *path = own_printf("%s/%s", argv[1], entries[i]->d_name);
		autofree uint8_t *exact = NULL;
		struct err err;
		struct buf input;

		/* before the run, so that the last line names the input that ended it */
		(void)fprintf(stderr, "%s\n", entries[i]->d_name);
		buf_init(&input, 64 << 20);
		if (file_read(path, &input, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		/* a copy of exactly this size, so that AddressSanitizer sees the first byte too many */
		exact = own_alloc(input.len);
		if (input.len > 0)
			(void)memcpy(exact, input.data, input.len);
		(void)LLVMFuzzerTestOneInput(exact, input.len);
		buf_done(&input);
		free(entries[i]);
	}
	free(entries);
	return 0;
}
