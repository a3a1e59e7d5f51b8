/* SPDX-License-Identifier: Apache-2.0 */
/* hemra doctor: what this machine can enforce, how the store stands, what is left over.
 *
 * Facts are gathered first and shown after, as text or as JSON, so that both say the same. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/locked.h"
#include "cli/out.h"
#include "cli/where.h"
#include "ground/base/own.h"
#include "ground/kernel/landlock.h"
#include "ground/kernel/seccomp.h"
#include "ground/wire/json.h"
#include "run/run.h"
#include "sandbox/sandbox.h"

#define JSON_MAX ((size_t)1024 * 1024)

struct provider_facts {
	const struct sandbox_provider *provider;
	struct err unusable; /* code 0: boxes can be made */
	struct sandbox_capabilities capabilities;
	int leftovers; /* or -errno */
};

struct facts {
	struct utsname kernel;
	int landlock; /* ABI or -errno */
	int seccomp;  /* 0 or -errno */
	struct provider_facts providers[SANDBOX_KIND_COUNT];
	char *store;          /* owned; NULL: there is none */
	struct err store_err; /* why not */
	bool loose;
	bool reaped_said, reindexed;
	struct run_reaped reaped;
	int swept;
};

static void facts_done(struct facts *f)
{
	free(f->store);
	f->store = NULL;
}

static void look_at_providers(struct facts *f)
{
	/* what a run asks for when its file says nothing: docs/files.md */
	const struct plan_limits limits = {.memory_bytes = UINT64_C(4) << 30,
		.pids = 512,
		.cpu_millis = 2000,
		.disk_bytes = UINT64_C(8) << 30};

	for (int kind = 0; kind < SANDBOX_KIND_COUNT; kind++) {
		struct provider_facts *p = &f->providers[kind];
		struct err err;

		p->provider = sandbox_provider_find((enum sandbox_kind)kind);
		if (p->provider == NULL)
			continue;
		if (p->provider->usable(&err) < 0)
			p->unusable = err;
		p->provider->capabilities(&limits, /* weaker= */ 0, &p->capabilities);
		p->leftovers = p->provider->sweep(/* dry_run= */ true, &err);
	}
}

static int look_at_store(const struct options *o, struct facts *f)
{
	autodone(where_done) struct place p = {0};
	int r = where_open(o, &p, &f->store_err);

	if (r < 0)
		return r;
	f->store = own_strdup(store_path(p.store));
	f->loose = store_is_loose(p.store);
	return 0;
}

static int reap(struct facts *f, struct err *err)
{
	int r = f->store != NULL ? run_reap(f->store, &f->reaped, err) : 0;

	for (int kind = 0; kind < SANDBOX_KIND_COUNT && r >= 0; kind++) {
		const struct sandbox_provider *provider = f->providers[kind].provider;

		r = provider != NULL ? provider->sweep(/* dry_run= */ false, err) : 0;
		f->swept += r > 0 ? r : 0;
	}
	f->reaped_said = r >= 0;
	return r < 0 ? r : 0;
}

struct derive_job {
	struct store *store;
	int pipe[2];
};

/* A locked_fn: reads what agents wrote and hands typed rows to the parent. */
static int derive_rows(void *context, struct err *err)
{
	struct derive_job *job = context;
	struct index_sink sink;
	int r;

	own_close(&job->pipe[0]);
	(void)signal(SIGPIPE, SIG_IGN); /* the parent says why it takes no more rows */
	index_pipe_sink(&job->pipe[1], &sink);
	r = store_derive(job->store, /* only= */ NULL, &sink, err);
	return r < 0 ? r : index_pipe_end(job->pipe[1], err);
}

static int rebuild(struct store *store, struct err *err)
{
	struct derive_job job = {.store = store};
	int directory = store_fd(store), r, read_result;
	struct locked_job reader_job = {.directory_fds = &directory,
		.directory_count = 1,
		.fn = derive_rows,
		.context = &job};
	struct locked reader;
	struct err read_err;

	if (pipe2(job.pipe, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe");
	r = locked_start(&reader_job, &reader, err);
	own_close(&job.pipe[1]);
	if (r == 0) {
		r = index_rebuild_from(store, job.pipe[0], err);
		own_close(&job.pipe[0]); /* a child that still writes ends */
		read_result = locked_wait(&reader, &reader_job, &read_err);
		/* why the rows stopped says more than that they stopped */
		if (read_result < 0 && read_result != -EPIPE && r < 0)
			*err = read_err;
	}
	own_close(&job.pipe[0]);
	return r;
}

static int reindex(const struct options *o, struct facts *f, struct err *err)
{
	autodone(where_done) struct place p = {0};
	int r = where_open(o, &p, err);

	if (r == 0)
		r = rebuild(p.store, err);
	f->reindexed = r == 0;
	return r;
}

static void print_provider(const struct provider_facts *p)
{
	/* out_finish() sees failure of all that is printed here */
	(void)printf("\n%s boxes: %s\n", p->provider->name, p->unusable.code == 0 ? "yes" : "no");
	if (p->unusable.code != 0)
		(void)printf("  %s\n", p->unusable.text);
	(void)printf("  %s\n", p->capabilities.sentence);
	(void)printf("  offers:");
	for (const struct flag_name *n = isolation_names; n->name != NULL; n++)
		if ((p->capabilities.isolation & n->flag) != 0)
			(void)printf(" %s", n->name);
	(void)printf("%s\n", p->capabilities.isolation == 0 ? " nothing" : "");
	(void)printf("  limits: %s\n", p->capabilities.how);
	if (p->leftovers > 0)
		(void)printf("  leftovers of dead runs: %d (hemra doctor --reap removes them)\n",
			p->leftovers);
}

static void print_facts(const struct facts *f)
{
	/* out_finish() sees failure of all that is printed here */
	(void)printf("hemra %s on %s %s (%s)\n", HEMRA_VERSION, f->kernel.sysname,
		f->kernel.release, f->kernel.machine);
	if (f->landlock > 0)
		(void)printf("Landlock ABI %d\n", f->landlock);
	else
		(void)printf("no Landlock: %s\n", strerror(-f->landlock));
	(void)printf("system call filters: %s\n", f->seccomp == 0 ? "yes" : strerror(-f->seccomp));
	for (int kind = 0; kind < SANDBOX_KIND_COUNT; kind++)
		if (f->providers[kind].provider != NULL)
			print_provider(&f->providers[kind]);
	(void)putchar('\n');
	if (f->store == NULL)
		(void)printf("store: %s\n", f->store_err.code == ENOENT
						    ? "none here; hemra run makes one"
						    : f->store_err.text);
	else
		(void)printf("store: %s\n", f->store);
	if (f->loose)
		(void)printf("  other users can read it: chmod 700 %s\n", f->store);
	if (f->reaped_said)
		(void)printf(
			"reaped: %u attempts settled as lost; %u work directories, %u cgroups, "
			"%u sockets, %d other leftovers removed\n",
			f->reaped.attempts, f->reaped.directories, f->reaped.cgroups,
			f->reaped.sockets, f->swept);
	if (f->reindexed)
		(void)puts("the index was built anew");
}

static void json_provider(const struct provider_facts *p, struct json_writer *w)
{
	json_object_open(w);
	json_pair_string(w, "name", p->provider->name);
	json_pair_bool(w, "usable", p->unusable.code == 0);
	json_pair_string(w, "why_not", p->unusable.code != 0 ? p->unusable.text : NULL);
	json_pair_string(w, "sentence", p->capabilities.sentence);
	json_key(w, "isolation");
	json_array_open(w);
	for (const struct flag_name *n = isolation_names; n->name != NULL; n++)
		if ((p->capabilities.isolation & n->flag) != 0)
			json_put_string(w, n->name);
	json_array_close(w);
	json_pair_bool(w, "limits_memory", p->capabilities.limits_memory);
	json_pair_bool(w, "limits_pids", p->capabilities.limits_pids);
	json_pair_bool(w, "limits_cpus", p->capabilities.limits_cpus);
	json_pair_bool(w, "limits_disk", p->capabilities.disk_enforced);
	json_pair_string(w, "how", p->capabilities.how);
	json_pair_int(w, "leftovers", p->leftovers > 0 ? p->leftovers : 0);
	json_object_close(w);
}

static void json_reaped(const struct facts *f, struct json_writer *w)
{
	json_key(w, "reaped");
	json_object_open(w);
	json_pair_uint(w, "attempts", f->reaped.attempts);
	json_pair_uint(w, "directories", f->reaped.directories);
	json_pair_uint(w, "cgroups", f->reaped.cgroups);
	json_pair_uint(w, "sockets", f->reaped.sockets);
	json_pair_int(w, "swept", f->swept);
	json_object_close(w);
}

static void json_facts(const struct facts *f, struct json_writer *w)
{
	json_object_open(w);
	json_pair_string(w, "hemra", HEMRA_VERSION);
	json_pair_string(w, "kernel", f->kernel.release);
	json_pair_string(w, "machine", f->kernel.machine);
	json_pair_int(w, "landlock_abi", f->landlock > 0 ? f->landlock : 0);
	json_pair_bool(w, "seccomp", f->seccomp == 0);
	json_key(w, "providers");
	json_array_open(w);
	for (int kind = 0; kind < SANDBOX_KIND_COUNT; kind++)
		if (f->providers[kind].provider != NULL)
			json_provider(&f->providers[kind], w);
	json_array_close(w);
	json_key(w, "store");
	if (f->store != NULL) {
		json_object_open(w);
		json_pair_string(w, "path", f->store);
		json_pair_bool(w, "loose", f->loose);
		json_object_close(w);
	} else {
		json_put_null(w);
	}
	if (f->reaped_said)
		json_reaped(f, w);
	json_pair_bool(w, "reindexed", f->reindexed);
	json_object_close(w);
}

int command_doctor(const struct options *o)
{
	autodone(facts_done) struct facts f = {0};
	struct err err;

	(void)uname(&f.kernel); /* fails for a bad address only */
	f.landlock = landlock_abi();
	f.seccomp = seccomp_probe();
	look_at_providers(&f);
	/* a store that was named and is not there is an error; none at all is a fact */
	if (look_at_store(o, &f) < 0 && (o->settings.store != NULL || o->reindex))
		return out_failure(o, &f.store_err, /* hint= */ NULL);
	if (o->reap && reap(&f, &err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	if (o->reindex && reindex(o, &f, &err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	if (o->json) {
		autodone(buf_done) struct buf out = {.max = JSON_MAX};
		struct json_writer w;

		json_writer_init(&w, &out);
		json_facts(&f, &w);
		out_json(&out);
	} else {
		print_facts(&f);
	}
	/* the boxes that every run uses unless told otherwise */
	return f.providers[SANDBOX_NATIVE].unusable.code == 0 ? EXIT_DONE : EXIT_ISOLATION;
}
