/* SPDX-License-Identifier: Apache-2.0 */
/* The attempts. A new one is a new row. */

#include "escape.h"

#include <stddef.h>

#define PY(code) "python3 -c '" code "' 2>&1 | tail -n 1"

/* Calls by number: x86-64's below 334, the common ones above. Prints the errno's name or
 * "worked". */
#define CALL(arguments)                                                                            \
	PY("import ctypes,errno;l=ctypes.CDLL(None,use_errno=True);r=l.syscall(" arguments         \
	   ");print(\"worked\" if r>=0 else errno.errorcode[ctypes.get_errno()])")

#define CONNECT(family, address)                                                                   \
	PY("import socket,errno;s=socket.socket(socket." family ",socket.SOCK_STREAM);"            \
	   "s.setblocking(False);e=s.connect_ex((\"" address "\",443));print(errno.errorcode[e])")

/* clang-format off */
const struct row rows[] = {
	{ "read the operator's home", "cat /tmp/hemra-unit-*/id_rsa 2>/dev/null; true",
		"", "stolen\n", BOX_WITHOUT_ABSENCE, 0, CLAIM_FILES_HOME, FOR_BOTH, NULL, 0 },
	{ "read hemra's store beneath the workspace", "cat store/key 2>/dev/null; true",
		"", "stolen\n", BOX_WITHOUT_COVER, 0, CLAIM_FILES_STORE, FOR_BOTH, NULL, 0 },
	{ "reach the operator's key agent",
		PY("import socket,glob;p=(glob.glob(\"/tmp/hemra-unit-*/agent.sock\")+[\"/none\"])[0];"
		   "s=socket.socket(socket.AF_UNIX);print(s.connect_ex(p) and \"refused\" or \"connected\")"),
		"refused\n", "connected\n", BOX_WITHOUT_ABSENCE, 0, CLAIM_FILES_SOCKETS, FOR_BOTH, NULL, 0 },
	{ "write beside the workspace", "touch /hemra-was-here 2>/dev/null && echo wrote; true",
		"", "wrote\n", BOX_WITHOUT_READONLY, WEAKER_LANDLOCK, CLAIM_FILES_OUTSIDE, FOR_BOTH, NULL, 0 },
	{ "connect to an address", CONNECT("AF_INET", "192.0.2.1"),
		"ENETUNREACH\n", "EINPROGRESS\n", BOX_WITHOUT_NETWORK, 0, CLAIM_NET_V4, FOR_BOTH, NULL, 0 },
	{ "open a socket past every namespace", CALL("41,16,3,12"), /* netlink, netfilter */
		"EAFNOSUPPORT\n", "worked\n", 0, WEAKER_SECCOMP, CLAIM_NET_VSOCK, FOR_BOTH, NULL, 0 },
	{ "see the host's processes", "ls -d /proc/[0-9]* | wc -l | awk '{ print ($1 > 12) ? \"many\" : \"few\" }'",
		"few\n", "many\n", BOX_WITHOUT_OWN_PROC, 0, CLAIM_PROC_OUTSIDE, FOR_BOTH, NULL, 0 },
	{ "trace pid 1", CALL("101,16902,1,0,0"), /* PTRACE_SEIZE */
		"EPERM\n", "worked\n", BOX_WITHOUT_USER | BOX_WITHOUT_CAPABILITIES,
		WEAKER_LANDLOCK, CLAIM_PROC_PTRACE, FOR_BOTH, NULL, 0 },
	{ "kill pid 1", "kill -KILL 1 2>/dev/null; sleep 0.1; echo alive",
		"alive\n", NULL, 0, 0, CLAIM_PROC_SIGNAL, 0,
		"the kernel keeps the first process of a namespace from such signals", 0 },
	{ "mount over a directory", CALL("165,b\"none\",b\"/tmp\",b\"tmpfs\",0,0"),
		"EPERM\n", "worked\n", BOX_WITHOUT_USER | BOX_WITHOUT_CAPABILITIES,
		WEAKER_SECCOMP | WEAKER_LANDLOCK, CLAIM_SYS_MOUNT, FOR_BOTH, NULL, 0 },
	{ "make a user namespace", CALL("272,0x10000000"),
		"EPERM\n", "worked\n", 0, WEAKER_SECCOMP, CLAIM_SYS_NAMESPACE, FOR_BOTH, NULL, 0 },
	{ "open io_uring", PY("import ctypes,errno;l=ctypes.CDLL(None,use_errno=True);b=ctypes.create_string_buffer(120);"
		"r=l.syscall(425,1,b);print(\"worked\" if r>=0 else errno.errorcode[ctypes.get_errno()])"),
		"ENOSYS\n", "worked\n", 0, WEAKER_SECCOMP, CLAIM_SYS_KERNEL, FOR_BOTH, NULL, 0 },
	{ "use the kernel's keyrings", CALL("250,0,-3,1"),
		"EPERM\n", "worked\n", 0, WEAKER_SECCOMP, CLAIM_SYS_KERNEL, FOR_BOTH, NULL, 0 },
	{ "hide clone flags in clone3", CALL("435,0,0"),
		"ENOSYS\n", "EINVAL\n", 0, WEAKER_SECCOMP, CLAIM_SYS_CLONE3, FOR_BOTH, NULL, 0 },
	{ "keep a capability", "awk '/^CapBnd/ { print ($2 == \"0000000000000000\") ? \"none\" : \"some\" }' /proc/self/status",
		"none\n", "some\n", BOX_WITHOUT_CAPABILITIES, 0, CLAIM_PRIV_CAPABILITIES, FOR_BOTH, NULL, 0 },
	{ "gain rights by exec", "awk '/^NoNewPrivs/ { print $2 }' /proc/self/status",
		"1\n", "0\n", BOX_WITHOUT_NO_NEW_PRIVS | BOX_WITHOUT_CAPABILITIES | BOX_WITHOUT_USER,
		WEAKER_SECCOMP | WEAKER_LANDLOCK, CLAIM_PRIV_NO_NEW, FOR_BOTH, NULL, 0 },
	{ "leave a core file", PY("import resource;print(resource.getrlimit(resource.RLIMIT_CORE)[1] == 1)"),
		"True\n", "False\n", BOX_WITHOUT_CORE_LIMIT, 0, CLAIM_PRIV_CORE, FOR_BOTH, NULL, 0 },
	{ "use a descriptor left open", PY("import os;print(len(os.listdir(\"/proc/self/fd\")))"),
		"4\n", "5\n", BOX_WITHOUT_CLOSING, 0, CLAIM_PRIV_FDS, FOR_BOTH, NULL, 0 },
	{ "change a kernel setting", "echo 99 2>/dev/null >/proc/sys/kernel/shmmni && echo wrote; true",
		"", "wrote\n", BOX_WITHOUT_PROC_SYS, 0, CLAIM_PRIV_SYSCTL, FOR_USER,
		"settings belong to the namespace's root, which a command of root's box is not", 0 },
	{ "start processes without end", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 100 & done 2>/dev/null; echo many",
		"", "many\n", BOX_WITHOUT_LIMITS, 0, CLAIM_LIMIT_PIDS, FOR_BOTH, NULL, 9 },
	{ "make a device", "mknod /tmp/mem c 1 1 2>/dev/null && echo made; true",
		"", NULL, 0, 0, CLAIM_FILES_DEVICES, 0, "the kernel lets no user namespace make devices", 0 },
	{ "leave a set-user-id file behind", "touch x; chmod 4755 x 2>/dev/null && echo made; "
		PY("import os;os.open(\"y\",os.O_CREAT|os.O_WRONLY,0o4755);print(\"opened\")") " | grep opened; true",
		"", "made\nopened\n", 0, WEAKER_SECCOMP, CLAIM_COUNT, FOR_BOTH, NULL, 0 },
	{ NULL, NULL, NULL, NULL, 0, 0, CLAIM_COUNT, 0, NULL, 0 },
};
