/* SPDX-License-Identifier: Apache-2.0 */
/* The option table and what reads a command line by it.
 *
 * How it works: one row per option. A row names the verbs it belongs to; two rows may share a name
 * when no verb has both. Most setters write one field at an offset; the others stand above the
 * table. Nothing is abbreviated: a flag that means something today keeps its meaning when another
 * with the same beginning arrives. Where options may follow operands, operands are gathered in
 * argv's own array. */

#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cli/setters.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define V(verb)    (1u << VERB_##verb)
#define BOXES      (V(RUN) | V(EXEC))
#define ALL        ((1u << VERB_COUNT) - 1)
#define AT(member) offsetof(struct options, member)

const struct option_row option_rows[] = {
	/* what to run */
	{V(RUN), "harness", 0, "NAME",
		"a harness, instead of the run file's (a name or a file; may be repeated)",
		set_harness, 0},
	{V(RUN), "task", 0, "DIR",
		"a task's directory, instead of the run file's (may be repeated)", set_task, 0},
	{V(RUN), "attempts", 'n', "N", "how often each harness tries each task", set_attempts, 0},
	{V(RUN), "concurrency", 'j', "N", "how many attempts run at once", set_concurrency, 0},
	{V(RUN), "print-config", 0, NULL, "print the resolved plans as JSON and start nothing",
		set_switch, AT(print_config)},
	/* the box */
	{BOXES | V(CHECK), "sandbox", 0, "KIND", "native (default) or local (restricts nothing)",
		set_sandbox, 0},
	{V(RUN), "workspace", 'C', "DIR", "the directory to work on instead of the task's",
		set_workspace, 0},
	{V(EXEC), "workspace", 'C', "DIR", "the directory to work on (default: the current one)",
		set_workspace, 0},
	{V(RUN), "workspace-mode", 0, "MODE",
		"copy (default) or bind: work on a copy or on the directory itself",
		set_workspace_mode, 0},
	{V(EXEC), "workspace-mode", 0, "MODE",
		"bind (default) or copy: work on the directory itself or on a copy",
		set_workspace_mode, 0},
	{BOXES, "mount", 0, "PATH[:ro|:rw]",
		"show PATH in the box, read-only unless :rw (may be repeated)", set_mount, 0},
	{BOXES, "env", 0, "NAME", "let this variable into the box (may be repeated)", set_env, 0},
	{BOXES, "network", 0, "none", "the network of a box; none is the only choice yet",
		set_network, 0},
	{BOXES, "require", 0, "NAME,...",
		"refuse to start unless enforced: network_block, resource_limit, file_system",
		set_require, 0},
	{BOXES, "weaker", 0, "NAME,...",
		"go on without this protection, and record that: probe, resource_limit, seccomp, "
		"landlock",
		set_weaker, 0},
	/* its limits */
	{V(RUN), "deadline", 0, "TIME", "stop an attempt after this time (90s, 15m, 2h)",
		set_deadline, 0},
	{V(CHECK), "deadline", 0, "TIME", "how long the first task may take (default 60s)",
		set_deadline, 0},
	{V(EXEC), "deadline", 0, "TIME", "stop CMD after this time (90s, 15m, 2h; default: never)",
		set_deadline, 0},
	{BOXES | V(CHECK), "memory", 0, "SIZE",
		"memory for all of the box together (512M, 4G; 0: no limit)", set_memory, 0},
	{BOXES | V(CHECK), "pids", 0, "N", "processes and threads in the box (0: no limit)",
		set_pids, 0},
	{BOXES | V(CHECK), "cpus", 0, "N", "processors' worth of time (2, 1.5; 0: no limit)",
		set_cpus, 0},
	{BOXES, "disk", 0, "SIZE", "room for what the box writes (512M, 8G; 0: no limit)", set_disk,
		0},
	/* the verifier */
	{V(RUN), "verifier-env", 0, "NAME",
		"let this variable into the verifier's box (may be repeated)", set_verifier_env, 0},
	/* the record */
	{BOXES, "keep", 0, "WHICH", "which workspaces to keep: failed (default), all, none",
		set_keep, 0},
	{V(RUN), "no-redact", 0, NULL, "do not replace secrets in the record; the manifest says so",
		set_no_redact, 0},
	{V(EXEC), "no-record", 0, NULL, "record nothing", set_no_record, 0},
	{V(EXEC), "record-output", 0, NULL,
		"also record what CMD reads and writes, secrets replaced", set_record_output, 0},
	{BOXES, "work-dir", 0, "DIR", "where workspaces lie (default: work/ in the store)",
		set_work_dir, 0},
	{V(RUN), "store", 0, "DIR",
		"where the record goes (default: $HEMRA_STORE, else the nearest .hemra here or "
		"above, else .hemra here)",
		set_store, 0},
	{V(EXEC), "store", 0, "DIR",
		"where the record goes (default: $HEMRA_STORE, else the nearest .hemra here or "
		"above, else ~/.local/state/hemra/store)",
		set_store, 0},
	{V(RUNS) | V(SHOW) | V(CANCEL) | V(EXPORT) | V(VERIFY) | V(RM) | V(GC) | V(DOCTOR), "store",
		0, "DIR",
		"the store (default: $HEMRA_STORE, else the nearest .hemra here or above, else "
		"~/.local/state/hemra/store)",
		set_store, 0},
	{V(CHECK), "store", 0, "DIR", "keep the record of the check in this store", set_store, 0},
	/* show, rm, gc, doctor, help */
	{V(SHOW), "events", 0, NULL, "every event, one line each", set_switch, AT(events)},
	{V(SHOW), "follow", 'f', NULL, "events as they come, until the attempt ends", set_switch,
		AT(follow)},
	{V(SHOW), "diff", 0, NULL, "what the attempt changed in its workspace", set_switch,
		AT(diff)},
	{V(RM), "why", 0, "TEXT", "the reason, for the tombstone", set_text, AT(why)},
	{V(GC), "dry-run", 0, NULL, "say what would go, remove nothing", set_switch, AT(dry_run)},
	{V(GC), "older-than", 0, "TIME", "remove kept workspaces older than this (30d)",
		set_older_than, 0},
	{V(GC), "keep-work", 0, "SIZE", "room that kept workspaces may take (default 10G)",
		set_keep_work, 0},
	{V(DOCTOR), "reap", 0, NULL, "settle attempts of dead runs as lost, remove what they left",
		set_switch, AT(reap)},
	{V(DOCTOR), "reindex", 0, NULL, "build the index anew from the events", set_switch,
		AT(reindex)},
	{V(HELP), "man", 0, NULL, "write the man page (roff)", set_switch, AT(man)},
	{V(HELP), "completion", 0, "bash", "write a completion script", set_text, AT(completion)},
	/* everywhere */
	{V(RUN) | V(EXEC) | V(CHECK), "quiet", 'q', NULL, "no progress and no notices", set_switch,
		AT(quiet)},
	{ALL & ~V(HELP), "json", 0, NULL, "print one JSON object on standard output", set_switch,
		AT(json)},
	{ALL, "help", 'h', NULL, "what this verb does", set_switch, AT(help)},
	/* known, not built yet */
	{BOXES, "allow-host", 0, "HOST", "reach this host", NULL, 0},
	{BOXES, "allowed-tools", 0, "A,B", "tools that the agent may use", NULL, 0},
	{BOXES, "image", 0, "IMAGE", "the root file system", NULL, 0},
	{BOXES, "decoys", 0, "on|off", "plant decoys", NULL, 0},
	{BOXES, "tripwire", 0, "kill|flag", "what a touched decoy does", NULL, 0},
	{V(EXEC), "harness", 0, "NAME", "a harness's gateway, environment and mounts around CMD",
		NULL, 0},
	{V(EXEC), "home", 0, "NAME", "a home that persists", NULL, 0},
	{V(EXEC), "mount-program", 0, "PATH", "show a program in the box", NULL, 0},
	{V(EXEC), "publish", 0, "PORT", "reach a port of the box", NULL, 0},
	{V(RUN), "judge", 0, "NAME", "apply a judge", NULL, 0},
	{V(RUN), "verifier-network", 0, "MODE", "the verifier's network", NULL, 0},
	{V(SHOW), "egress", 0, NULL, "what the wall said", NULL, 0},
	{V(EXPORT), "format", 0, "FORMAT", "a foreign format", NULL, 0},
	{V(EXPORT), "redacted", 0, NULL, "without names of this machine", NULL, 0},
	{V(DOCTOR), "prove", 0, NULL, "run every probe of the trust page", NULL, 0},
};
const size_t option_count = array_count(option_rows);

static const struct option_row *row_find(enum verb verb, const char *name, size_t size)
{
	for (size_t i = 0; i < option_count; i++)
		if ((option_rows[i].verbs & (1u << verb)) != 0 &&
			strlen(option_rows[i].name) == size &&
			memcmp(option_rows[i].name, name, size) == 0)
			return &option_rows[i];
	return NULL;
}

static const struct option_row *row_of_letter(enum verb verb, char letter)
{
	for (size_t i = 0; i < option_count; i++)
		if ((option_rows[i].verbs & (1u << verb)) != 0 && option_rows[i].letter == letter)
			return &option_rows[i];
	return NULL;
}

static int refuse_option(enum verb verb, const char *name, struct err *err)
{
	const char *known[array_count(option_rows) + 1];
	const char *verb_name = verb_rows[verb].name, *near;
	size_t count = 0;

	for (size_t i = 0; i < option_count; i++)
		if ((option_rows[i].verbs & (1u << verb)) != 0 && option_rows[i].set != NULL)
			known[count++] = option_rows[i].name;
	known[count] = NULL;
	for (int other = 0; other < VERB_COUNT; other++)
		if (row_find((enum verb)other, name, strlen(name)) != NULL)
			return err_say(err, EINVAL, "'%s' has no option '--%s' ('%s' has)",
				verb_name, name, verb_rows[other].name);
	near = str_nearest(name, known);
	if (near != NULL)
		return err_say(err, EINVAL, "unknown option '--%s' of '%s' (did you mean '--%s'?)",
			name, verb_name, near);
	return err_say(err, EINVAL, "unknown option '--%s' of '%s'", name, verb_name);
}

static int row_apply(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	if (row->set == NULL)
		return err_say(err, ENOTSUP, "'--%s' is not built yet", row->name);
	return row->set(o, row, value, err);
}

/* --name, --name=VALUE, --name VALUE. Returns how many words were used, or -errno. */
static int take_long(struct options *o, char **words, int count, struct err *err)
{
	const char *name = words[0] + 2, *equals = strchr(name, '=');
	size_t size = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = row_find(o->verb, name, size);
	int r;

	if (row == NULL) {
		autofree char *plain = own_strndup(name, size);

		return refuse_option(o->verb, plain, err);
	}
	if (row->argument == NULL && equals != NULL)
		return err_say(err, EINVAL, "'--%s' takes no value", row->name);
	if (row->argument == NULL || equals != NULL) {
		r = row_apply(o, row, equals != NULL ? equals + 1 : NULL, err);
		return r < 0 ? r : 1;
	}
	if (row->set != NULL && count < 2)
		return err_say(err, EINVAL, "'--%s' needs a value: --%s %s", row->name, row->name,
			row->argument);
	r = row_apply(o, row, count < 2 ? "" : words[1], err);
	return r < 0 ? r : 2;
}

/* -x, -xy (switches), -xVALUE, -x VALUE. */
static int take_letters(struct options *o, char **words, int count, struct err *err)
{
	int r;

	for (const char *p = words[0] + 1; *p != '\0'; p++) {
		const struct option_row *row = row_of_letter(o->verb, *p);

		if (row == NULL)
			return err_say(err, EINVAL, "unknown option '-%c' of '%s'", *p,
				verb_rows[o->verb].name);
		if (row->argument == NULL) {
			r = row_apply(o, row, /* value= */ NULL, err);
			if (r < 0)
				return r;
			continue;
		}
		if (p[1] != '\0') {
			r = row_apply(o, row, p + 1, err);
			return r < 0 ? r : 1;
		}
		if (count < 2)
			return err_say(
				err, EINVAL, "'-%c' needs a value: -%c %s", *p, *p, row->argument);
		r = row_apply(o, row, words[1], err);
		return r < 0 ? r : 2;
	}
	return 1;
}

static int check_operands(const struct options *o, struct err *err)
{
	const struct verb_row *verb = &verb_rows[o->verb];

	if (o->help)
		return 0;
	if ((unsigned)o->operand_count < verb->operands_min)
		return err_say(err, EINVAL, "'hemra %s' needs more: hemra %s %s", verb->name,
			verb->name, verb->operands);
	if ((unsigned)o->operand_count > verb->operands_max)
		return err_say(err, EINVAL, "'hemra %s' does not know what to do with '%s'",
			verb->name, o->operands[verb->operands_max]);
	return 0;
}

/* Words that are each fine and not so together. */
static int check_together(const struct options *o, struct err *err)
{
	if (o->help || o->verb != VERB_EXEC)
		return 0;
	if (o->settings.record == 0 && o->settings.record_output == 1)
		return err_say(err, EINVAL,
			"--record-output and --no-record contradict one another: keep what?");
	if (*o->operands[0] == '\0')
		return err_say(err, EINVAL, "the command is an empty word");
	return 0;
}

/* After a failure: is the rest of what is hemra's to be answered in JSON? */
static void look_for_json(struct options *o, int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			o->json = true;
}

static int parse_words(struct options *o, int argc, char **argv, struct err *err)
{
	bool stops = verb_rows[o->verb].stops, over = false;
	int at = 0, r;

	o->operands = argv;
	while (at < argc) {
		char *word = argv[at];
		int used;

		if (over || word[0] != '-' || word[1] == '\0') {
			over = over || stops;
			o->operands[o->operand_count++] = word;
			at++;
			continue;
		}
		if (strcmp(word, "--") == 0) {
			over = true;
			at++;
			continue;
		}
		used = word[1] == '-' ? take_long(o, argv + at, argc - at, err)
				      : take_letters(o, argv + at, argc - at, err);
		if (used < 0) {
			look_for_json(o, argc - at, argv + at);
			return used;
		}
		at += used;
	}
	o->operands[o->operand_count] = NULL; /* argv ends with one more place */
	r = check_operands(o, err);
	return r < 0 ? r : check_together(o, err);
}

int options_parse(struct options *o, int argc, char **argv, struct err *err)
{
	int words = 1, no_cwd = 0, r;

	*o = (struct options){.verb = VERB_HELP};
	settings_init(&o->settings);
	assert(argc > 0);
	if (argc == 1)
		return 0;
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		o->verb = VERB_VERSION;
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return 0;
	r = verb_find(argc - 1, argv + 1, &o->verb, &words, err);
	if (r < 0) {
		o->verb = VERB_COUNT;
		look_for_json(o, argc - 1, argv + 1);
		return r;
	}
	o->cwd = get_current_dir_name();
	if (o->cwd == NULL) {
		no_cwd = errno;
		o->cwd = own_strdup("/"); /* until the words have said whether it matters */
	}
	r = parse_words(o, argc - 1 - words, argv + 1 + words, err);
	if (no_cwd != 0 && !o->help && o->verb != VERB_HELP && o->verb != VERB_VERSION)
		r = err_set(err, no_cwd, "find the current directory (was it removed?)");
	if (o->help)
		o->topic = verb_rows[o->verb].name;
	return r;
}

void options_done(struct options *o)
{
	settings_done(&o->settings);
	free(o->cwd);
	*o = (struct options){0};
}
