/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_LOCKDOWN_H
#define GROUND_KERNEL_LOCKDOWN_H

#include <stddef.h>

#include "ground/base/err.h"

/* Two ways for a single-threaded process of ours to give up everything it will not need, before the
 * first byte that an agent wrote. There is no way back. Both end with: no_new_privs, not dumpable,
 * no core file, no capability in any set (one exception below), a list of allowed system calls (any
 * other is EPERM, so that what is tried can be seen), and Landlock as far as this kernel has it.
 * For root and for an ordinary user alike; an ordinary user's bounding set is left, which
 * no_new_privs makes harmless. */

/* For a process whose work is done over descriptors that it holds or is sent.
 *
 * It may still: read, write, splice, copy, send and receive (also descriptors) what it holds; poll and
 * epoll; make timers and pipes; take memory, lock it, give it back; ask for time and randomness; handle
 * signals, also one of its own to itself (abort); set O_NONBLOCK, FD_CLOEXEC and pipe sizes; end.
 * It may no longer: open, stat or name any file; make a socket, connect, bind, listen; run a
 * program, fork, or make memory executable; signal, trace, read or look at another process, also
 * not through F_SETOWN; mount, or make or enter a namespace; make a memory file; change its user,
 * limits or flags. fstat() of the C library counts as stat here. */
int lockdown_warden(struct err *err);

enum lockdown_reader_flag {
	/* Give up CAP_DAC_READ_SEARCH as well. Otherwise a reader that has it (root's) keeps it,
	 * and reads files of every owner and mode beneath the directories. */
	LOCKDOWN_NO_CAPABILITY = 1 << 0,
};

/* For a process that reads files beneath directories (or single files) which it holds open, and
 * writes to descriptors that it holds. count may be 0: it opens nothing.
 *
 * It may still, beside what a warden may: open for reading, list and read links beneath the
 * directories; stat anything; on descriptors that it holds for writing, write, truncate, allocate,
 * sync and copy; flock; ask a terminal for its size.
 * It may no longer, beside what a warden may not: open anything for writing, create or truncate by
 * opening (EPERM; by openat2(): EACCES), or read elsewhere (EACCES).
 *
 * Without Landlock (landlock_abi() < 0) nothing holds it beneath the directories: it can then read
 * whatever its user can, and as root with the capability, everything; it still cannot write.
 * openat2() is ENOSYS before Landlock's third ABI: a filter cannot see its flags, and before that
 * Landlock lets O_TRUNC through. */
int lockdown_reader(const int *directory_fds, size_t count, unsigned flags, struct err *err);

#define LOCKDOWN_DIRECTORIES_MAX 16

#endif
