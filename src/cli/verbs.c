/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs: what each is for, in the words a user reads. */

#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"

const struct verb_row verb_rows[VERB_COUNT] = {
	[VERB_RUN] = {"run", "[FILE...]", 0, UINT_MAX,
		"run harnesses on tasks, grade and record every attempt",
		"A harness says how an agent is started; a task is a directory with an "
		"instruction and tests; a run file names harnesses, tasks and how often. Every "
		"plan is made first, and what this machine cannot enforce is refused before "
		"anything starts. Each attempt runs in a box of its own, which is tried before "
		"the agent starts; its work is graded in a second box; all of it is recorded in "
		"the store.\n\n"
		"Flags override the run file, the run file overrides "
		"~/.config/hemra/config.toml, and that overrides HEMRA_* variables. Without a "
		"FILE, --harness and --task say what to run. Several files are run one after "
		"the other.",
		"hemra run --attempts 3 run.toml", "three attempts of everything run.toml names",
		false},
	[VERB_EXEC] = {"exec", "[--] CMD [ARG...]", 1, UINT_MAX, "run one command in a box",
		"Runs CMD in a box that sees the current directory, writable, and the system's "
		"programs, read-only: no home, no network, no other process. The box is tried "
		"before CMD starts. What CMD reads and writes on its standard streams passes "
		"unchanged; the record keeps its arguments, its end and the sizes and digests of "
		"the streams.\n\n"
		"hemra's own options end where CMD begins. The exit status is CMD's; 124 means the deadline passed, 125 that hemra failed, 126 that CMD "
		"cannot be executed and 127 that it was not found.",
		"hemra exec --memory 2G -- make -j2 test",
		"build and test here, with 2 GiB of memory at most", true},
	[VERB_CHECK] = {"harness check", "HARNESS", 1, 1, "try a harness on two throw-away tasks",
		"Runs HARNESS (a file, or a name as in a run file) twice in a box: once on a "
		"task that asks for one small file, once on a task that is cancelled after two "
		"seconds. Prints what was seen of handshake, events, result, cancel and limits; "
		"the exit status is 1 when one of them failed. Everything lies in "
		"$TMPDIR/hemra-check-* and is removed at the end; with --store the record is kept "
		"in that store.",
		"hemra harness check harnesses/mine.toml", "does my harness speak the protocol?",
		false},
	[VERB_RUNS] = {"runs", "", 0, 0, "list the runs in the store",
		"Lists runs, newest first: attempts, scores and the room they take.", "hemra runs",
		"what was run here", false},
	[VERB_SHOW] = {"show", "ID", 1, 1, "show a run or an attempt",
		"Shows a run's attempts, or one attempt: how it ended, its score, what the probe "
		"found, what changed, what was kept. ID is any unique beginning of at least four "
		"characters. Words that an agent wrote are shown with control characters made "
		"visible, and are read by a process that can open nothing else.",
		"hemra show --events 01jx", "every event of an attempt, one line each", false},
	[VERB_CANCEL] = {"cancel", "ID", 1, 1, "stop a running attempt, or all of a run",
		"Asks the process that watches over the attempt, or over each attempt of a run, "
		"to stop it. The harness is told, then signalled, then killed. What it did until "
		"then is collected, graded and recorded, as after any other end.",
		"hemra cancel 01jx", "stop it from another terminal", false},
	[VERB_EXPORT] = {"export", "ID DIR", 2, 2, "write a record that verifies on its own",
		"Writes to the new directory DIR what belongs to an attempt, or to every attempt "
		"of a run: manifest, events, artifacts, seal and public key. `hemra verify DIR` "
		"checks it anywhere, without the store.",
		"hemra export 01jx ./evidence", "hand the record to somebody", false},
	[VERB_VERIFY] = {"verify", "[ID|DIR]", 0, 1, "check that a record was not changed",
		"Computes every hash anew and checks events, seals, artifacts, manifests and the "
		"index by them; names each difference. Without an argument all "
		"of the store is checked; with ID one attempt or run; with DIR (a word with a /, "
		"or a directory's name) what hemra export wrote. Nothing is changed. The exit status is 1 when a record does not hold.",
		"hemra verify", "check all of the store", false},
	[VERB_RM] = {"rm", "ID", 1, 1, "remove an attempt or a run, leaving a tombstone",
		"Removes the events of an attempt, or of every attempt of a run, the workspace "
		"and verifier's files that were kept, and the artifacts that no other attempt "
		"has. A signed tombstone stays and says when and why, so that the gap is seen. "
		"An attempt that still runs is refused: hemra cancel stops it.",
		"hemra rm --why \"wrong task version\" 01jx", "remove one attempt", false},
	[VERB_GC] = {"gc", "", 0, 0, "free room in the store",
		"Removes artifacts that no record names, and kept workspaces: those older than "
		"--older-than, and the oldest until the rest fits into --keep-work (10G unless "
		"said). Attempts themselves stay; hemra rm removes them.",
		"hemra gc --dry-run --older-than 30d", "what would go", false},
	[VERB_DOCTOR] = {"doctor", "", 0, 0, "what this machine can enforce, and what is left over",
		"Says which kinds of box can be made here and what they enforce; where something "
		"is missing it names the cause and a remedy. Looks at the store and at what dead "
		"runs left. The exit status is 4 when the boxes that runs use by default cannot "
		"be made.",
		"hemra doctor", "can I use hemra here?", false},
	[VERB_HELP] = {"help", "[VERB]", 0, 2, "show this list, or one verb's page",
		"Shows the verbs, or what one of them does. --man writes the man page, "
		"--completion bash a completion script.",
		"hemra help exec", "the page of exec", false},
	[VERB_VERSION] = {"version", "", 0, 0, "print the version", "Prints hemra's version.",
		"hemra version", "which hemra is this?", false},
};

const char *const verbs_later[] = {
	"rerun", "import", "apply", "egress", "compare", "dataset", "task", "tasks", "serve", NULL};

static int refuse_verb(const char *word, struct err *err)
{
	/* first words of all verbs, and those to come: a slip of the finger is told the nearest */
	const char *known[VERB_COUNT + 16];
	const char *near;
	size_t count = 0;

	for (int i = 0; verbs_later[i] != NULL; i++)
		if (strcmp(word, verbs_later[i]) == 0)
			return err_say(err, ENOTSUP, "'hemra %s' is not built yet", word);
	if (word[0] == '-')
		return err_say(err, EINVAL, "unknown option '%s': options follow a verb", word);
	for (int i = 0; i < VERB_COUNT; i++)
		known[count++] = i == VERB_CHECK ? "harness" : verb_rows[i].name;
	known[count] = NULL;
	near = str_nearest(word, known);
	if (near != NULL)
		return err_say(err, EINVAL, "unknown verb '%s' (did you mean '%s'?)", word, near);
	return err_say(err, EINVAL, "unknown verb '%s'", word);
}

int verb_find(int argc, char *const *argv, enum verb *ret, int *ret_words, struct err *err)
{
	assert(argc > 0);
	if (strcmp(argv[0], "harness") == 0) {
		if (argc > 1 && strcmp(argv[1], "check") == 0) {
			*ret = VERB_CHECK;
			*ret_words = 2;
			return 0;
		}
		if (argc > 1 && argv[1][0] != '-')
			return err_say(err, EINVAL,
				"unknown verb 'harness %s' (did you mean 'harness check'?)",
				argv[1]);
		return err_say(
			err, EINVAL, "'harness' needs a second word: hemra harness check HARNESS");
	}
	for (int i = 0; i < VERB_COUNT; i++)
		if (strcmp(argv[0], verb_rows[i].name) == 0) {
			*ret = (enum verb)i;
			*ret_words = 1;
			return 0;
		}
	return refuse_verb(argv[0], err);
}
