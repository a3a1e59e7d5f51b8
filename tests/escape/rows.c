/* SPDX-License-Identifier: Apache-2.0 */
/* The attempts. A new one is a new row. */

#include <stddef.h>

#include "escape.h"

#define PY(code) "python3 -c '" code "' 2>&1 | tail -n 1"

/* A system call by number, as x86-64 counts. Prints the errno's name, or "worked". */
#define CALL(arguments)                                                                            \
	PY("import ctypes,errno;l=ctypes.CDLL(None,use_errno=True);"                               \
	   "b=ctypes.create_string_buffer(120);r=l.syscall(" arguments ");"                        \
	   "print(\"worked\" if r>=0 else errno.errorcode[ctypes.get_errno()])")

#define CONNECT(family, address)                                                                   \
	PY("import socket,errno;s=socket.socket(socket." family ",socket.SOCK_STREAM);"            \
	   "s.setblocking(False);e=s.connect_ex((\"" address "\",443));print(errno.errorcode[e])")

const struct row rows[] = {
	{
		.name = "read the operator's home",
		.script = "cat /tmp/hemra-unit-*/id_rsa 2>/dev/null; true",
		.refused = "",
		.works = "stolen\n",
		.without = BOX_WITHOUT_ABSENCE,
		.claim = CLAIM_FILES_HOME,
		.twin = FOR_BOTH,
	},
	{
		.name = "read hemra's store beneath the workspace",
		.script = "cat store/key 2>/dev/null; true",
		.refused = "",
		.works = "stolen\n",
		.without = BOX_WITHOUT_COVER,
		.claim = CLAIM_FILES_STORE,
		.twin = FOR_BOTH,
	},
	{
		.name = "reach the operator's key agent",
		.script = PY("import socket,glob;s=socket.socket(socket.AF_UNIX);"
			     "p=(glob.glob(\"/tmp/hemra-unit-*/agent.sock\")+[\"/none\"])[0];"
			     "print(s.connect_ex(p) and \"refused\" or \"connected\")"),
		.refused = "refused\n",
		.works = "connected\n",
		.without = BOX_WITHOUT_ABSENCE,
		.claim = CLAIM_FILES_SOCKETS,
		.twin = FOR_BOTH,
	},
	{
		.name = "write beside the workspace",
		.script = "touch /hemra-was-here 2>/dev/null && echo wrote; true",
		.refused = "",
		.works = "wrote\n",
		.without = BOX_WITHOUT_READONLY,
		.weaker = WEAKER_LANDLOCK,
		.claim = CLAIM_FILES_OUTSIDE,
		.twin = FOR_BOTH,
	},
	{
		.name = "connect to an address",
		.script = CONNECT("AF_INET", "192.0.2.1"),
		.refused = "ENETUNREACH\n",
		.works = "EINPROGRESS\n",
		.without = BOX_WITHOUT_NETWORK,
		.claim = CLAIM_NET_V4,
		.twin = FOR_BOTH,
	},
	{
		.name = "open a socket of another family",
		.script = CALL("41,16,3,12"), /* netlink, netfilter */
		.refused = "EAFNOSUPPORT\n",
		.works = "worked\n",
		.weaker = WEAKER_SECCOMP,
		.claim = CLAIM_NET_VSOCK,
		.twin = FOR_BOTH,
	},
	{
		.name = "see the host's processes",
		.script = "ls -d /proc/[0-9]* | wc -l | "
			  "awk '{ print ($1 > 12) ? \"many\" : \"few\" }'",
		.refused = "few\n",
		.works = "many\n",
		.without = BOX_WITHOUT_OWN_PROC,
		.claim = CLAIM_PROC_OUTSIDE,
		.twin = FOR_BOTH,
	},
	{
		.name = "trace pid 1",
		.script = CALL("101,16902,1,0,0"), /* PTRACE_SEIZE */
		.refused = "EPERM\n",
		.works = "worked\n",
		.without = BOX_WITHOUT_USER | BOX_WITHOUT_CAPABILITIES,
		.weaker = WEAKER_LANDLOCK,
		.claim = CLAIM_PROC_PTRACE,
		.twin = FOR_BOTH,
	},
	{
		.name = "kill pid 1",
		.script = "kill -KILL 1 2>/dev/null; sleep 0.1; echo alive",
		.refused = "alive\n",
		.claim = CLAIM_PROC_SIGNAL,
		.no_twin = "the kernel keeps the first process of a namespace from such signals",
	},
	{
		.name = "mount over a directory",
		.script = CALL("165,b\"none\",b\"/tmp\",b\"tmpfs\",0,0"),
		.refused = "EPERM\n",
		.works = "worked\n",
		.without = BOX_WITHOUT_USER | BOX_WITHOUT_CAPABILITIES,
		.weaker = WEAKER_SECCOMP | WEAKER_LANDLOCK,
		.claim = CLAIM_SYS_MOUNT,
		.twin = FOR_BOTH,
	},
	{
		.name = "make a user namespace",
		.script = CALL("272,0x10000000"),
		.refused = "EPERM\n",
		.works = "worked\n",
		.weaker = WEAKER_SECCOMP,
		.claim = CLAIM_SYS_NAMESPACE,
		.twin = FOR_BOTH,
	},
	{
		.name = "open io_uring",
		.script = CALL("425,1,b"),
		.refused = "ENOSYS\n",
		.works = "worked\n",
		.weaker = WEAKER_SECCOMP,
		.claim = CLAIM_SYS_KERNEL,
		.twin = FOR_BOTH,
	},
	{
		.name = "use the kernel's keyrings",
		.script = CALL("250,0,-3,1"),
		.refused = "EPERM\n",
		.works = "worked\n",
		.weaker = WEAKER_SECCOMP,
		.claim = CLAIM_SYS_KERNEL,
		.twin = FOR_BOTH,
	},
	{
		.name = "hide clone flags in clone3",
		.script = CALL("435,0,0"),
		.refused = "ENOSYS\n",
		.works = "EINVAL\n",
		.weaker = WEAKER_SECCOMP,
		.claim = CLAIM_SYS_CLONE3,
		.twin = FOR_BOTH,
	},
	{
		.name = "keep a capability",
		.script =
			"awk '/^CapBnd/ { print ($2 == \"0000000000000000\") ? \"none\" : \"some\" }' "
			"/proc/self/status",
		.refused = "none\n",
		.works = "some\n",
		.without = BOX_WITHOUT_CAPABILITIES,
		.claim = CLAIM_PRIV_CAPABILITIES,
		.twin = FOR_BOTH,
	},
	{
		.name = "gain rights by exec",
		.script = "awk '/^NoNewPrivs/ { print $2 }' /proc/self/status",
		.refused = "1\n",
		.works = "0\n",
		.without = BOX_WITHOUT_NO_NEW_PRIVS | BOX_WITHOUT_CAPABILITIES | BOX_WITHOUT_USER,
		.weaker = WEAKER_SECCOMP | WEAKER_LANDLOCK,
		.claim = CLAIM_PRIV_NO_NEW,
		.twin = FOR_BOTH,
	},
	{
		.name = "leave a core file",
		.script =
			PY("import resource;print(resource.getrlimit(resource.RLIMIT_CORE)[1]==1)"),
		.refused = "True\n",
		.works = "False\n",
		.without = BOX_WITHOUT_CORE_LIMIT,
		.claim = CLAIM_PRIV_CORE,
		.twin = FOR_BOTH,
	},
	{
		.name = "use a descriptor left open",
		.script = PY("import os;print(len(os.listdir(\"/proc/self/fd\")))"),
		.refused = "4\n",
		.works = "5\n",
		.without = BOX_WITHOUT_CLOSING,
		.claim = CLAIM_PRIV_FDS,
		.twin = FOR_BOTH,
	},
	{
		.name = "change a kernel setting",
		.script = "echo 99 2>/dev/null >/proc/sys/kernel/shmmni && echo wrote; true",
		.refused = "",
		.works = "wrote\n",
		.without = BOX_WITHOUT_PROC_SYS,
		.claim = CLAIM_PRIV_SYSCTL,
		.twin = FOR_USER,
		.no_twin = "in root's box the command is not the user whom the settings belong to",
	},
	{
		.name = "start processes without end",
		.script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 100 & done 2>/dev/null; "
			  "echo many",
		.refused = "",
		.works = "many\n",
		.without = BOX_WITHOUT_LIMITS,
		.claim = CLAIM_LIMIT_PIDS,
		.twin = FOR_BOTH,
		.limit_pids = 9,
	},
	{
		.name = "make a device",
		.script = "mknod /tmp/mem c 1 1 2>/dev/null && echo made; true",
		.refused = "",
		.claim = CLAIM_FILES_DEVICES,
		.no_twin = "the kernel lets nobody in a user namespace make devices",
	},
	{
		.name = "leave a set-user-id file behind",
		.script = "touch x; chmod 4755 x 2>/dev/null && echo made; "
			  "python3 -c 'import os;os.open(\"y\",os.O_CREAT|os.O_WRONLY,0o4755);"
			  "print(\"opened\")' 2>/dev/null; true",
		.refused = "",
		.works = "made\nopened\n",
		.weaker = WEAKER_SECCOMP,
		.claim = CLAIM_COUNT,
		.twin = FOR_BOTH,
	},
	{
		.name = "leave a set-group-id file behind",
		.script = "touch x z; chmod 2755 x 2>/dev/null && echo made; "
			  "python3 -c 'import os;os.open(\"y2\",os.O_CREAT|os.O_WRONLY,0o2755);"
			  "print(\"opened\")' 2>/dev/null; "
			  "python3 -c 'import os;os.mknod(\"y3\",0o102755);"
			  "print(\"mknod\")' 2>/dev/null; "
			  "python3 -c 'import os;os.fchmod(os.open(\"z\",0),0o2711);"
			  "print(\"fchmod\")' 2>/dev/null; true",
		.refused = "",
		.works = "made\nopened\nmknod\nfchmod\n",
		.weaker = WEAKER_SECCOMP,
		.claim = CLAIM_COUNT,
		.twin = FOR_BOTH,
	},
	{
		.name = "move a covered directory away with the one it is in",
		.script = "mv deep gone 2>/dev/null && mkdir -p deep/store && echo replaced; true",
		.refused = "",
		.works = "replaced\n",
		.without = BOX_WITHOUT_PINS,
		.claim = CLAIM_COUNT,
		.twin = FOR_BOTH,
	},
	{.name = NULL},
};
