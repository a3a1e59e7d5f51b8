/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_TERMS_CLAIM_H
#define GROUND_TERMS_CLAIM_H

#include <stdint.h>

/* What the probe tries inside every box before the harness starts: one table for the probe, the
 * tests and docs/trust.md. X(ID, "box.layer.what", what is tried and must come of it) */
#define CLAIM_TABLE(X)                                                                             \
	X(FILES_HOME, "box.files.home", "the operator's home holds none of its files")             \
	X(FILES_STORE, "box.files.store", "hemra's store is absent")                               \
	X(FILES_OUTSIDE, "box.files.outside", "a write to /usr, /etc or / is refused")             \
	X(FILES_SOCKETS, "box.files.sockets", "docker.sock, D-Bus and agents' sockets are absent") \
	X(FILES_DEVICES, "box.files.devices", "no device node can be made")                        \
	X(FILES_WORKSPACE, "box.files.workspace", "the workspace can be written")                  \
	X(FILES_TEMP, "box.files.temp", "/tmp can be written")                                     \
	X(NET_V4, "box.net.v4", "a connection to an IPv4 address fails at once")                   \
	X(NET_V6, "box.net.v6", "a connection to an IPv6 address fails at once")                   \
	X(NET_UDP, "box.net.udp", "a datagram to an address fails at once")                        \
	X(NET_RAW, "box.net.raw", "raw and packet sockets are refused")                            \
	X(NET_VSOCK, "box.net.vsock", "sockets of other families are refused")                     \
	X(NET_LOOPBACK, "box.net.loopback", "processes of the box reach each other on 127.0.0.1")  \
	X(PROC_OUTSIDE, "box.proc.outside",                                                        \
		"only processes of the box are seen; pid 1 is hemra-init")                         \
	X(PROC_PTRACE, "box.proc.ptrace", "pid 1 cannot be traced or read")                        \
	X(PROC_SIGNAL, "box.proc.signal", "pid 1 cannot be killed")                                \
	X(SYS_MOUNT, "box.sys.mount",                                                              \
		"mount, umount, pivot_root and the new mount API are refused")                     \
	X(SYS_NAMESPACE, "box.sys.namespace", "no new namespace can be made or joined")            \
	X(SYS_KERNEL, "box.sys.kernel", "bpf, perf, keyctl, io_uring, userfaultfd are refused")    \
	X(SYS_ABI, "box.sys.abi", "x32 and i386 system calls are refused")                         \
	X(SYS_CLONE3, "box.sys.clone3", "clone3 answers ENOSYS so that programs fall back")        \
	X(PRIV_CAPABILITIES, "box.priv.capabilities", "no capability in any set")                  \
	X(PRIV_NO_NEW, "box.priv.no_new", "no_new_privs is set")                                   \
	X(PRIV_CORE, "box.priv.core", "no core file can be written")                               \
	X(PRIV_FDS, "box.priv.fds",                                                                \
		"no descriptor beyond standard input, output and error is open")                   \
	X(PRIV_SYSCTL, "box.priv.sysctl", "no kernel setting can be written")                      \
	X(LIMIT_MEMORY, "box.limit.memory", "the memory limit that was asked for is in force")     \
	X(LIMIT_PIDS, "box.limit.pids", "a process-count limit is in force")                       \
	X(EXEC_COMMAND, "box.exec.command", "the command is found and can be executed")

enum claim {
#define X(id, name, about) CLAIM_##id,
	CLAIM_TABLE(X)
#undef X
	CLAIM_COUNT,
};

enum claim_verdict {
	CLAIM_HELD,    /* came out as the claim says */
	CLAIM_BROKEN,  /* did not */
	CLAIM_UNTRIED, /* could not be tried here; detail says why (an errno) */
};

/* What pid 1's child reports, 16 bytes each. */
struct claim_result {
	uint16_t claim;   /* enum claim */
	uint8_t verdict;  /* enum claim_verdict */
	uint8_t part;     /* which attempt of several decided, from 0 */
	int32_t detail;   /* errno or value seen */
	uint64_t time_ns; /* how long the attempt took */
};
_Static_assert(sizeof(struct claim_result) == 16, "a report is 16 bytes");

/* A loosening turns an expectation round or off; what is off is not tried and not claimed. */
struct claim_expect {
	uint16_t claim;
	uint8_t verdict; /* the verdict that is expected */
};

const char *claim_name(enum claim c); /* "box.files.home" */
const char *claim_about(enum claim c);
int claim_parse(const char *name, enum claim *ret); /* -EINVAL */

#endif
