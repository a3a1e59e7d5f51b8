/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BEGIN_H
#define CLI_BEGIN_H

#include <stdbool.h>

/* What must be so before anything else is done, however hemra was started: descriptors 0, 1 and 2
 * are open (else the first socket made would become one of them, and words meant for a reader
 * would go into it), a write beyond RLIMIT_FSIZE is an error with a sentence and no death, and a
 * reader that stops reading ends hemra even where SIGPIPE was inherited ignored.
 *
 * False, with errno: a descriptor was closed and /dev/null cannot stand in for it. */
bool begin_process(void);

#endif
