/* SPDX-License-Identifier: Apache-2.0 */
/* hemra: runs agents that nobody has reason to trust, and keeps a record that can be believed. */

#include "cli/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
