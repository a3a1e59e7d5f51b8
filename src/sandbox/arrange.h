/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_ARRANGE_H
#define SANDBOX_ARRANGE_H

/* In a cloned child: puts the descriptors where pid 1 expects them, closes every other, resets
 * the signals and executes the image with an empty environment. Returns -errno when that fails.
 * A stdio of -1 becomes /dev/null. */
int arrange_and_exec(const int stdio[3], int control, int steward, int link, int image);

#endif
