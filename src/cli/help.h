/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/options.h"
#include "ground/base/buf.h"

/* Pages written from the tables of verbs and options. */
void help_list(struct buf *out);                 /* hemra help */
void help_verb(enum verb verb, struct buf *out); /* hemra VERB --help */
void help_man(struct buf *out);                  /* hemra.1, roff with the man macros */
void help_bash(struct buf *out);                 /* a completion script for bash */

#endif
