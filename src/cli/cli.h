/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* The face on the command line: reads the words, calls the floors below, turns what comes back into
 * text, JSON and an exit status. Returns the exit status. argv must end with NULL and is
 * permuted. */
int cli_main(int argc, char **argv);

#endif
