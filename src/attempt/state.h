/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTEMPT_STATE_H
#define ATTEMPT_STATE_H

/* What a steward knows while it runs its attempt; private to attempt/. */

#include <stdbool.h>
#include <sys/types.h>

#include "attempt/attempt.h"
#include "ground/base/buf.h"
#include "ground/base/clock.h"
#include "ground/base/err.h"
#include "ground/kernel/sock.h"
#include "ground/loop/loop.h"
#include "ground/terms/event.h"
#include "ground/terms/msg.h"
#include "ground/terms/outcome.h"
#include "ground/terms/plan.h"
#include "needle/needle.h"
#include "sandbox/sandbox.h"
#include "secret/secret.h"
#include "store/store.h"

#define STREAM_COUNT 3 /* harness stdout, harness stderr, verifier output */

/* A raw stream on its way into the record. */
struct record_stream {
	enum event_type type;
	struct needle_stream *needle; /* owned, NULL until first used or without secrets */
	struct loop_timer *hold;      /* owned: gives up what is held back */
	struct attempt *attempt;
};

enum stop_step {
	STOP_NONE,
	STOP_ASKED,  /* run.cancel was sent */
	STOP_TERM,   /* SIGTERM was sent */
	STOP_KILLED, /* everything was killed */
};

/* What an attempt begins with; all are taken. */
struct attempt_start {
	int engine_fd, plan_fd;
	int events_fd; /* -1 without a record */
};

struct git_watch;

struct attempt {
	struct plan plan;
	struct loop *loop;
	struct mono started;

	/* engine */
	int engine_fd;
	struct loop_watch *engine_watch;
	bool engine_gone;

	/* record */
	struct store *store;   /* NULL without a record */
	struct event_log *log; /* never NULL after prepare */
	struct needle *needle; /* of all the run's secrets */
	struct needle_seam *seam;
	uint64_t *redactions; /* per secret */
	uint64_t splits;
	struct record_stream streams[STREAM_COUNT];
	struct loop_timer *sync_timer;
	struct buf scratch, wrapped; /* redacted bytes; bytes put into JSON */
	bool record_failed;          /* the disk is full or the like: nothing more can be written */

	/* secrets */
	struct secret_set *secrets;

	/* files */
	int work_fd;               /* the attempt's work directory, -1 when it needs none */
	char *workspace;           /* host path of what the box works on; NULL: none */
	char *artifacts;           /* host path, NULL for exec */
	struct plan_mount *mounts; /* of the box, in order */
	size_t mount_count;
	uint64_t artifact_bytes;
	struct git_watch *git_watch; /* of a bound workspace; NULL: none */
	char planted[504];           /* see struct msg_settled */
	char **declared;             /* artifact paths as the harness declared them */
	size_t declared_count;

	/* box */
	const struct sandbox_provider *provider;
	struct box *box;
	char **argv, **envp;
	struct claim_result claims[CLAIM_COUNT];
	size_t claim_count;
	unsigned unexpected;
	bool box_armed, streams_sent, box_running, box_exited, box_dead;
	int wait_status;
	bool out_of_memory, out_of_pids;
	unsigned survivors;

	/* warden */
	pid_t warden_pid;
	int warden_fd;
	struct loop_watch *warden_watch;
	bool warden_ready, warden_done;
	char *incoming; /* room for one payload */
	struct msg_done done;

	/* control socket */
	int live_fd;
	struct loop_watch *live_watch;

	/* course */
	enum state state;
	bool failed; /* outcome and reason are decided */
	bool cancelled; /* the operator wants its end, or the engine is gone: also while it is graded */
	enum outcome outcome;
	char reason[504];
	enum stop_step stopping;
	struct loop_timer *stop_timer, *deadline_timer, *linger_timer;
	bool lingered;
	int signals;     /* exec: how many were passed on */
	int exec_status; /* exec: what hemra exits with; -1 not known yet */

	/* score */
	bool graded;
	double score;
};

/* attempt.c */
/* The first cause of the end holds; later ones are only logged. */
void attempt_fail(struct attempt *a, enum outcome outcome, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void attempt_enter(struct attempt *a, enum state state);
bool attempt_is_exec(const struct attempt *a);

/* prepare.c, environment.c */
int attempt_prepare(struct attempt *a, const struct attempt_start *start, struct err *err);
int attempt_prepare_files(struct attempt *a, struct err *err);
int attempt_prepare_command(struct attempt *a, struct err *err);
int attempt_environment(struct attempt *a, const struct plan_variable *extra, size_t extra_count,
	char *const *names, char ***ret_envp, struct err *err);
int attempt_read_secrets(struct attempt *a, struct err *err);
void attempt_forget_environment(struct attempt *a);

/* note.c: what enters the record */
int note_open(struct attempt *a, int events_fd, struct err *err);
void note_close(struct attempt *a);
/* A JSON object of our own or of the harness's; redacted, chained, flushed at the round's end. */
void note_event(struct attempt *a, enum event_type type, const char *data, size_t size);
void note_eventf(struct attempt *a, enum event_type type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* For events that rows are derived from: their words were redacted one by one (note_redact), their
 * frame is ours and must stay what it is, whatever a secret's value is. */
void note_plain(struct attempt *a, enum event_type type, const char *data, size_t size);
/* The same, written to the file before it returns: for what is about to take effect. */
void note_decision(struct attempt *a, enum event_type type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes what was gathered: before the engine is told a row that is derived from it. */
void note_flush(struct attempt *a);
void note_bytes(struct attempt *a, enum event_type type, const void *bytes, size_t size);
void note_finish_streams(struct attempt *a);
/* Replaces secrets in a text of our own in place; what no longer fits is cut. */
void note_redact(struct attempt *a, char *text, size_t room);

/* arm.c: the box and its reports */
int attempt_arm(struct attempt *a, struct err *err);

/* wire.c: the warden's and the engine's messages */
int wire_start_warden(struct attempt *a, attempt_warden_fn *warden, int start_fd, struct err *err);
/* It locks itself down while files and box are made; nothing untrusted is read before it has. */
int wire_await_warden(struct attempt *a, struct err *err);
void wire_end_warden(struct attempt *a);
int wire_to_warden(
	struct attempt *a, const struct msg *head, const void *body, const struct sock_fds *fds);
void wire_launch(struct attempt *a);
void wire_to_engine(struct attempt *a, const struct msg *head, const void *body);
void wire_watch_engine(struct attempt *a);

/* supervise.c: deadlines, cancel, stop */
void supervise_prepare(struct attempt *a);
void supervise_run(struct attempt *a);
void supervise_stop(struct attempt *a, enum cancel_reason reason);
void supervise_kill(struct attempt *a);
void supervise_launched(struct attempt *a);
void supervise_result(struct attempt *a);
bool supervise_is_over(const struct attempt *a);

/* control.c: live/<attempt>.sock */
void control_open(struct attempt *a);
void control_close(struct attempt *a);

/* reader.c: locked children that read what the agent wrote */
typedef int reader_fn(void *context, void *result);
struct reader_job {
	const int *directories; /* all that it may read beneath */
	size_t directory_count;
	reader_fn *fn;
	void *context;
	void *result; /* filled by fn in the child, and here when it is done */
	size_t result_size;
};
/* Runs job->fn in a fresh child that is locked down. Waits at most timeout_ms. -EIO with a sentence
 * when the child died. */
int reader_run(const struct reader_job *job, int timeout_ms, struct err *err);

/* tree.c: copies */
#define TREE_FILES_MAX 1000000
/* Of a workspace without a disk limit, when it is copied for the verifier. */
#define TREE_BYTES_MAX (UINT64_C(32) << 30)
struct tree_copy {
	uid_t uid;
	gid_t gid;
	uint64_t bytes_max;     /* 0: none */
	char *const *leave_out; /* absolute host paths; may be NULL */
	const char *source;     /* absolute path of what is copied, to compare with leave_out */
	struct attempt *
		attempt; /* its loop is turned now and then, its cancel ends the copy; may be NULL */
	bool lenient;    /* what cannot be read is left out and counted, not an error */
	uint64_t bytes, files; /* results */
	unsigned unreadable;
	unsigned skipped; /* sockets, devices and FIFOs that were left out */
	char first_skipped[256];
};
/* Copies the content of directory from into the existing directory to; links are copied as links,
 * hard links become files of their own, special files are left out and counted. */
int tree_copy(int from, int to, struct tree_copy *copy, struct err *err);
/* Is this absolute path one of those (NULL-terminated, may be NULL) that copies do without? */
bool tree_leaves_out(char *const *leave_out, const char *path);
/* mkdir beneath a directory with an owner; -EEXIST is fine for an existing one. */
int tree_make(int at, const char *name, mode_t mode, uid_t uid, gid_t gid, struct err *err);

/* collect.c, artifacts.c, changes.c */
void attempt_collect(struct attempt *a);
void collect_artifacts(struct attempt *a);
/* What git on the host would now obey in a bound workspace. */
void collect_git(struct attempt *a);
/* Records and reports one text artifact whose blob is linked; path is redacted first. */
void collect_tell(
	struct attempt *a, const char *path, const struct msg_artifact *head, uint64_t bytes);
void collect_changes(struct attempt *a);

/* verify.c */
void attempt_verify(struct attempt *a);

/* settle.c */
int attempt_settle(struct attempt *a);

#endif
