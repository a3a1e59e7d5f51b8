/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_INIT_PROBE_H
#define PROGRAMS_INIT_PROBE_H

#include "ground/terms/claim.h"
#include "programs/init/start.h"

/* Tries the claims that s asks for, from inside, in a forked child; room for CLAIM_COUNT results.
 * Returns how many there are: a claim that could not be tried is in it as untried. */
size_t probe_run(const struct start *s, struct claim_result *results);

/* One claim's attempt fills verdict, part and detail. part counts what was tried, from 0. */
typedef void probe_fn(const struct start *s, struct claim_result *r);

probe_fn probe_files_home, probe_files_store, probe_files_outside, probe_files_sockets,
	probe_files_devices, probe_files_workspace, probe_files_temp;
probe_fn probe_net_v4, probe_net_v6, probe_net_udp, probe_net_raw, probe_net_vsock,
	probe_net_loopback;
probe_fn probe_proc_outside, probe_proc_ptrace, probe_proc_signal;
probe_fn probe_sys_mount, probe_sys_namespace, probe_sys_kernel, probe_sys_abi, probe_sys_clone3;
probe_fn probe_priv_capabilities, probe_priv_no_new, probe_priv_core, probe_priv_fds,
	probe_priv_sysctl;
probe_fn probe_limit_pids, probe_exec_command;

/* Helpers of the attempts. A refusal that is expected: value is 0 or more when the call worked,
 * else -errno. Broken when it worked or failed with an errno that is not in the list (ends with 0).
 * Returns false when the claim is decided. */
bool probe_refused(struct claim_result *r, size_t part, long value, const int *errnos);
/* The other way round: the call must have worked. */
bool probe_worked(struct claim_result *r, size_t part, long value);

#endif
