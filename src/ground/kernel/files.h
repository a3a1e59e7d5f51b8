/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_FILES_H
#define GROUND_KERNEL_FILES_H

#include <stddef.h>
#include <sys/types.h>

/* Files beneath a directory that somebody else may have filled. All return -errno. */

/* Opens path beneath dirfd: no "..", absolute path, symbolic link or /proc link leads out; a
 * link that stays inside is followed unless flags hold O_NOFOLLOW. CLOEXEC is added. -EXDEV for
 * an escape. */
int file_open_beneath(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd);

/* As above, but no symbolic link is followed at all (-ELOOP) and no other mount is entered
 * (-EXDEV). */
int file_open_strict(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd);

/* Removes name in dirfd (or a path whose directories are trusted) with everything beneath it.
 * Never follows a link, never leaves the file system of name, needs no memory in proportion to
 * the tree; directories that their owner made unreadable (mode 000) are opened up first. 0 when
 * nothing of it is left, -ENOENT when there was nothing, else the first failure, with as much
 * removed as could be. */
int file_remove_tree(int dirfd, const char *name);

/* Reads a small file whole into room bytes and terminates it. -EFBIG when it is larger. Returns the
 * number of bytes. Meant for /proc, /sys and /etc. */
ssize_t file_read_small(int dirfd, const char *path, char *out, size_t room);

/* Writes text with one write(2), as control files want it; the file must exist. */
int file_write_text(int dirfd, const char *path, const char *text);

#endif
