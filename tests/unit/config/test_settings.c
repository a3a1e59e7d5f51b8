/* SPDX-License-Identifier: Apache-2.0 */
/* Run files, the user's file, and laying them over one another. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "ground/base/own.h"

static void has_the_bounds_said(const struct settings *s)
{
	assert_int_equal(s->bounds.handshake_ms, 2000);
	assert_int_equal(s->bounds.cancel_grace_ms, 250);
	assert_int_equal(s->bounds.term_grace_ms, 1000);
	assert_int_equal(s->bounds.line_bytes, 4096);
	assert_int_equal(s->bounds.events_bytes, 1 << 20);
	assert_int_equal(s->bounds.stderr_bytes, 2048);
	assert_int_equal(s->bounds.artifact_files, 3);
	assert_int_equal(s->bounds.artifact_bytes, 5);
	assert_int_equal(s->bounds.artifacts_bytes, 6144);
}

static void a_full_run_file(void **state)
{
	autofree char *mine = in_place("harnesses/mine.toml"), *task = in_place("tasks/fix");
	autofree char *data = in_place("data"), *gh = in_place("keys/gh"),
		      *file = in_place("run.toml");
	autofree char *store = in_place("records"), *reference = own_printf("file:%s", gh);
	struct settings s;
	struct err err = {0};

	(void)state;
	put("data/x", "");
	put("run.toml",
		"harnesses = [\"claude-code\", \"harnesses/mine.toml\"]\n"
		"tasks = [\"tasks/fix\", \"/abs/task/\"]\n"
		"attempts = 3\nconcurrency = 2\ndeadline = \"20m\"\n"
		"env = [\"LANG\", \"LANG\", \"TZ\"]\n"
		"keep = \"all\"\nredact = false\nstore = \"records\"\nwork_dir = \"/var/tmp/w\"\n"
		"[sandbox]\nkind = \"local\"\nnetwork = \"none\"\n"
		"memory = \"4G\"\npids = 512\ncpus = 2.5\ndisk = \"0\"\n"
		"workspace = \"bind\"\nmounts = [\"data:/in:rw\"]\ngit_config = \"rw\"\n"
		"weaker = [\"probe\", \"seccomp\"]\n"
		"[secrets]\nA = \"env:TOKEN\"\nB = \"file:keys/gh\"\nC = \"credential:db\"\n"
		"[verifier]\nnetwork = \"none\"\nenv = [\"PIP\"]\nrepeat = 4\n"
		"[require]\nisolation = [\"network_block\", \"file_system\"]\n"
		"[limits]\nhandshake = \"2s\"\ncancel_grace = \"250ms\"\nterm_grace = \"1\"\n"
		"line = \"4K\"\nevents = \"1M\"\nstderr = \"2K\"\n"
		"artifact_files = 3\nartifact_bytes = \"5\"\nartifacts_bytes = \"6K\"\n");
	if (settings_read_file("run.toml", &s, &err) < 0)
		fail_msg("%s", err.text);
	has_the_bounds_said(&s);
	assert_int_equal(strv_count(s.harnesses), 2);
	assert_string_equal(s.harnesses[0], "claude-code");
	assert_string_equal(s.harnesses[1], mine);
	assert_string_equal(s.tasks[0], task);
	assert_string_equal(s.tasks[1], "/abs/task");
	assert_int_equal(s.attempts, 3);
	assert_int_equal(s.concurrency, 2);
	assert_int_equal(s.deadline_ms, 20 * 60000);
	assert_int_equal(strv_count(s.env), 2);
	assert_int_equal(s.keep, KEEP_ALL);
	assert_int_equal(s.redact, 0);
	assert_string_equal(s.store, store);
	assert_string_equal(s.work_dir, "/var/tmp/w");
	assert_int_equal(s.kind, SANDBOX_LOCAL);
	assert_int_equal(s.limits.memory_bytes, 4LL << 30);
	assert_int_equal(s.limits.pids, 512);
	assert_int_equal(s.limits.cpu_millis, 2500);
	assert_true(s.limit_said_disk);
	assert_int_equal(s.limits.disk_bytes, 0);
	assert_int_equal(s.workspace, WORKSPACE_BIND);
	assert_int_equal(s.mount_count, 1);
	assert_string_equal(s.mounts[0].source, data);
	assert_string_equal(s.mounts[0].target, "/in");
	assert_true(s.mounts[0].writable);
	assert_int_equal(s.git_config_writable, 1);
	assert_int_equal(s.weaker, WEAKER_PROBE | WEAKER_SECCOMP);
	assert_int_equal(s.secret_count, 3);
	assert_string_equal(s.secrets[1].name, "B");
	assert_string_equal(s.secrets[1].reference, reference);
	assert_string_equal(s.verifier_env_names[0], "PIP");
	assert_int_equal(s.verifier_repeat, 4);
	assert_int_equal(s.require, ISOLATION_NETWORK_BLOCK | ISOLATION_FILE_SYSTEM);
	assert_int_equal(s.record, -1);
	assert_int_equal(strv_count(s.files), 1);
	assert_string_equal(s.files[0], file);
	settings_done(&s);
}

static void an_empty_file_says_nothing(void **state)
{
	struct settings s, silent;
	struct err err = {0};

	(void)state;
	put("run.toml", "# nothing\n");
	assert_int_equal(settings_read_file("run.toml", &s, &err), 0);
	settings_init(&silent);
	strv_free(s.files);
	s.files = NULL;
	assert_memory_equal(&s, &silent, sizeof(s));
	settings_done(&s);
}

/* One bad file each; "@" stands for the test's directory. */
static const struct {
	const char *text, *sentence;
	int code;
} bad_files[] = {
	{"atempts = 3\n", "run.toml:1: unknown key 'atempts' (did you mean 'attempts'?)", EINVAL},
	{"[sandbox]\nmemroy = \"4G\"\n",
		"run.toml:2: unknown key 'sandbox.memroy' (did you mean 'memory'?)", EINVAL},
	{"zzzzzzzzzz = 1\n", "run.toml:1: unknown key 'zzzzzzzzzz'", EINVAL},
	{"\n[allow]\nhosts = []\n", "run.toml:2: key 'allow' is not built yet", EINVAL},
	{"[tripwire]\ndecoys = \"on\"\n", "run.toml:1: key 'tripwire' is not built yet", EINVAL},
	{"[[judge]]\nname = \"style\"\n", "run.toml:1: key 'judge' is not built yet", EINVAL},
	{"[sandbox]\nimage = \"debian.tar\"\n", "run.toml:2: key 'sandbox.image' is not built yet",
		EINVAL},
	{"[sandbox]\nkind = \"docker\"\n", "run.toml:2: sandbox.kind: \"docker\" is not built yet",
		EINVAL},
	{"[sandbox]\nkind = \"modal\"\n", "run.toml:2: sandbox.kind: \"modal\" is not built yet",
		EINVAL},
	{"[sandbox]\nkind = \"fly\"\n", "run.toml:2: sandbox.kind: \"fly\" is not built yet",
		EINVAL},
	{"[sandbox]\nkind = \"sprites\"\n",
		"run.toml:2: sandbox.kind: \"sprites\" is not built yet", EINVAL},
	{"[sandbox]\nkind = \"nativ\"\n",
		"run.toml:2: sandbox.kind: expected \"native\" or \"local\", found \"nativ\"",
		EINVAL},
	{"[sandbox]\nnetwork = \"allow\"\n",
		"run.toml:2: sandbox.network: \"allow\" is not built yet", EINVAL},
	{"[sandbox]\nnetwork = \"open\"\n",
		"run.toml:2: sandbox.network: \"open\" is not built yet", EINVAL},
	{"[sandbox]\nnetwork = \"bridge\"\n",
		"run.toml:2: sandbox.network: expected \"none\", found \"bridge\"", EINVAL},
	{"[sandbox]\nworkspace = \"overlay\"\n",
		"run.toml:2: sandbox.workspace: \"overlay\" is not built yet", EINVAL},
	{"[verifier]\nnetwork = \"open\"\n",
		"run.toml:2: verifier.network: \"open\" is not built yet", EINVAL},
	{"[verifier]\nverifier_root = \"pristine\"\n",
		"run.toml:2: key 'verifier.verifier_root' is not built yet", EINVAL},
	{"attempts = \"3\"\n",
		"run.toml:1: attempts: expected a whole number from 1 to 100000, found a string",
		EINVAL},
	{"attempts = 0\n",
		"run.toml:1: attempts: expected a whole number from 1 to 100000, found 0", EINVAL},
	{"concurrency = 1025\n",
		"run.toml:1: concurrency: expected a whole number from 1 to 1024, found 1025",
		EINVAL},
	{"deadline = 900\n",
		"run.toml:1: deadline: expected a time such as \"15m\", found an integer", EINVAL},
	{"deadline = \"0s\"\n",
		"run.toml:1: deadline: expected a time such as \"15m\", found \"0s\"", EINVAL},
	{"redact = \"no\"\n", "run.toml:1: redact: expected true or false, found a string", EINVAL},
	{"keep = \"some\"\n",
		"run.toml:1: keep: expected \"failed\", \"all\" or \"none\", found \"some\"",
		EINVAL},
	{"sandbox = \"local\"\n", "run.toml:1: sandbox: expected a table, found a string", EINVAL},
	{"store = \"\"\n", "run.toml:1: store: expected a path, found \"\"", EINVAL},
	{"store = \"~/s\"\n", "run.toml:1: store: ~ is not expanded, write the path out", EINVAL},
	{"store = \"a\\u0000b\"\n", "run.toml:1: store: the string holds a NUL character", EINVAL},
	{"harnesses = \"one\"\n",
		"run.toml:1: harnesses: expected an array of harness names or files, found a string",
		EINVAL},
	{"harnesses = [\n\"a\",\n2]\n",
		"run.toml:3: harnesses: expected an array of harness names or files, found an integer",
		EINVAL},
	{"harnesses = []\n", "run.toml:1: harnesses: the list is empty", EINVAL},
	{"tasks = [\"dataset:x@1\"]\n", "run.toml:1: tasks: tasks by dataset: are not built yet",
		EINVAL},
	{"[sandbox]\ncpus = nan\n",
		"run.toml:2: sandbox.cpus: expected a number from 0 to 4096, such as 1.5, found nan",
		EINVAL},
	{"[sandbox]\ncpus = -1\n",
		"run.toml:2: sandbox.cpus: expected a number from 0 to 4096, such as 1.5, found -1",
		EINVAL},
	{"[sandbox]\nmemory = 4\n",
		"run.toml:2: sandbox.memory: expected a size such as \"4G\", found an integer",
		EINVAL},
	{"[sandbox]\nmemory = \"4X\"\n",
		"run.toml:2: sandbox.memory: expected a size such as \"4G\", found \"4X\"", EINVAL},
	{"[sandbox]\npids = -1\n",
		"run.toml:2: sandbox.pids: expected a whole number from 0 to 4194304, found -1",
		EINVAL},
	{"[sandbox]\ngit_config = true\n",
		"run.toml:2: sandbox.git_config: expected \"ro\" or \"rw\", found a boolean",
		EINVAL},
	{"[sandbox]\nweaker = [\"prob\"]\n",
		"run.toml:2: sandbox.weaker: expected an array of \"probe\", \"resource_limit\", \"seccomp\", "
		"\"landlock\", found \"prob\"",
		EINVAL},
	{"[require]\nisolation = [\"network\"]\n",
		"run.toml:2: require.isolation: expected an array of \"network_block\", \"resource_limit\", "
		"\"file_system\", found \"network\"",
		EINVAL},
	{"[limits]\nhandshak = \"1s\"\n",
		"run.toml:2: unknown key 'limits.handshak' (did you mean 'handshake'?)", EINVAL},
	{"[limits]\nhandshake = \"0\"\n",
		"run.toml:2: limits.handshake: expected a time from \"1ms\" to \"24h\", found \"0\"",
		EINVAL},
	{"[limits]\nterm_grace = \"25h\"\n",
		"run.toml:2: limits.term_grace: expected a time from \"1ms\" to \"24h\", found \"25h\"",
		EINVAL},
	{"[limits]\nline = \"1048577\"\n",
		"run.toml:2: limits.line: expected a size from \"1K\" to \"1M\", found \"1048577\"",
		EINVAL},
	{"[limits]\nline = \"1023\"\n",
		"run.toml:2: limits.line: expected a size from \"1K\" to \"1M\", found \"1023\"",
		EINVAL},
	{"[limits]\nevents = 5\n",
		"run.toml:2: limits.events: expected a size from \"1K\" to \"1024T\", found an integer",
		EINVAL},
	{"[limits]\nstderr = \"65M\"\n",
		"run.toml:2: limits.stderr: expected a size from \"1K\" to \"64M\", found \"65M\"",
		EINVAL},
	{"[limits]\nartifact_files = 0\n",
		"run.toml:2: limits.artifact_files: expected a whole number from 1 to 100000, found 0",
		EINVAL},
	{"[limits]\nartifact_files = -1\n",
		"run.toml:2: limits.artifact_files: expected a whole number from 1 to 100000, found -1",
		EINVAL},
	{"[sandbox]\nmounts = [\"nowhere\"]\n",
		"run.toml:2: sandbox.mounts: mount 'nowhere': '@/nowhere': No such file or directory",
		ENOENT},
	{"[sandbox]\nmounts = [\"/usr:in\"]\n",
		"run.toml:2: sandbox.mounts: mount '/usr:in': the target must be an absolute path (modes are "
		"ro and rw)",
		EINVAL},
	{"[sandbox]\nmounts = [\"/usr:/a\", \"/etc:/a/\"]\n",
		"run.toml:2: sandbox.mounts: two mounts have the target of '/etc:/a/'", EINVAL},
	{"env = [\"PATH\"]\n", "run.toml:1: env: PATH is set by hemra in every box", EINVAL},
	{"env = [\"TMPDIR\"]\n", "run.toml:1: env: TMPDIR is set by hemra in every box", EINVAL},
	{"env = [\"HEMRA_X\"]\n",
		"run.toml:1: env: HEMRA_X begins with HEMRA_, which is kept for hemra", EINVAL},
	{"env = [\"LD_PRELOAD\"]\n",
		"run.toml:1: env: LD_PRELOAD changes the loader of every program in the box; set it inside "
		"the command",
		EINVAL},
	{"[verifier]\nenv = [\"LD_LIBRARY_PATH\"]\n",
		"run.toml:2: verifier.env: LD_LIBRARY_PATH changes the loader of every program in the box; "
		"set it inside the command",
		EINVAL},
	{"env = [\"A=1\"]\n",
		"run.toml:1: env: expected names of environment variables (letters, digits and _), found "
		"something else",
		EINVAL},
	{"[secrets]\nHOME = \"env:X\"\n",
		"run.toml:2: secrets.HOME: HOME is set by hemra in every box", EINVAL},
	{"[secrets]\nA = \"keyring:x\"\n",
		"run.toml:2: secrets.A: secrets by keyring: are not built yet", EINVAL},
	{"[secrets]\nA = \"command:x\"\n",
		"run.toml:2: secrets.A: secrets by command: are not built yet", EINVAL},
	{"[secrets]\nA = \"file:~/x\"\n",
		"run.toml:2: secrets.A: ~ is not expanded, write the path out", EINVAL},
	{"[secrets]\nA = \"credential:../x\"\n",
		"run.toml:2: secrets.A: expected env:NAME, file:PATH or credential:NAME; a secret itself is "
		"never written here",
		EINVAL},
	{"[secrets]\nA = \"sk-0123456789abcdef\"\n",
		"run.toml:2: secrets.A: expected env:NAME, file:PATH or credential:NAME; a secret itself is "
		"never written here",
		EINVAL},
	{"[secrets]\nA = 1234567890\n",
		"run.toml:2: secrets.A: expected a string: env:NAME, file:PATH or credential:NAME",
		EINVAL},
	{"[secrets]\n\"A B\" = \"env:X\"\n",
		"run.toml:2: secrets: expected names of environment variables (letters, digits and _), found "
		"something else",
		EINVAL},
};

static void bad_run_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(bad_files); i++) {
		autofree char *sentence = with_place(bad_files[i].sentence);
		struct settings s;
		struct err err = {0};
		int r;

		put("run.toml", bad_files[i].text);
		r = settings_read_file("run.toml", &s, &err);
		if (r == 0)
			fail_msg("accepted: %s", bad_files[i].text);
		assert_string_equal(err.text, sentence);
		assert_int_equal(r, -bad_files[i].code);
	}
}

static void no_secret_is_printed(void **state)
{
	static const char *const files[] = {"[secrets]\nA = \"hunter2hunter2\"\n",
		"[secrets]\nA = [\"hunter2hunter2\"]\n", "secrets = \"hunter2hunter2\"\n",
		"env = [\"A=hunter2hunter2\"]\n", "env = \"hunter2hunter2\"\n",
		"env = [[\"hunter2hunter2\"]]\n", "[verifier]\nenv = [\"A=hunter2hunter2\"]\n"};

	(void)state;
	for (size_t i = 0; i < array_count(files); i++) {
		struct settings s;
		struct err err = {0};

		put("run.toml", files[i]);
		assert_int_equal(settings_read_file("run.toml", &s, &err), -EINVAL);
		assert_null(strstr(err.text, "hunter2"));
	}
}

static void files_that_cannot_be_read(void **state)
{
	struct settings s;
	struct err err = {0};

	(void)state;
	assert_int_equal(settings_read_file("none.toml", &s, &err), -ENOENT);
	assert_string_equal(err.text, "open 'none.toml': No such file or directory");
	assert_int_equal(settings_read_file(".", &s, &err), -EINVAL);
	assert_string_equal(err.text, "'.' is not a regular file");
	put("run.toml", "attempts = = 1\n");
	assert_int_equal(settings_read_file("run.toml", &s, &err), -EINVAL);
	assert_ptr_equal(strstr(err.text, "run.toml:1: "), err.text);
}

static void the_users_file(void **state)
{
	autofree char *path = in_place("home/.config/hemra/config.toml");
	autofree char *sentence = own_printf("%s:1: tasks: belongs in a run file", path);
	autofree char *xdg = in_place("xdg");
	struct settings s;
	struct err err = {0};

	(void)state;
	assert_int_equal(settings_read_user(&s, &err), 0); /* absent is empty */
	assert_null(s.files);
	settings_done(&s);
	put("home/.config/hemra/config.toml", "concurrency = 7\n");
	assert_int_equal(settings_read_user(&s, &err), 0);
	assert_int_equal(s.concurrency, 7);
	assert_string_equal(s.files[0], path);
	settings_done(&s);
	put("home/.config/hemra/config.toml", "tasks = [\"x\"]\n");
	assert_int_equal(settings_read_user(&s, &err), -EINVAL);
	assert_string_equal(err.text, sentence);
	put("xdg/hemra/config.toml", "concurrency = 8\n");
	assert_int_equal(setenv("XDG_CONFIG_HOME", xdg, 1), 0);
	assert_int_equal(settings_read_user(&s, &err), 0);
	assert_int_equal(s.concurrency, 8);
	settings_done(&s);
	/* the XDG specification: a relative path is to be ignored */
	put("home/.config/hemra/config.toml", "concurrency = 9\n");
	assert_int_equal(setenv("XDG_CONFIG_HOME", "xdg", 1), 0);
	assert_int_equal(settings_read_user(&s, &err), 0);
	assert_int_equal(s.concurrency, 9);
	settings_done(&s);
	assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

static void mounts(void **state)
{
	static const struct {
		const char *text, *source, *target;
		bool writable;
	} good[] = {
		{"d", "@/d", "@/d", false},
		{"d:ro", "@/d", "@/d", false},
		{"./d/../d/:rw", "@/d", "@/d", true},
		{"d:/in", "@/d", "/in", false},
		{"d:/in/./x//y/:ro", "@/d", "/in/x/y", false},
		{"/usr:/in:rw", "/usr", "/in", true},
		{"link", "@/d", "@/link", false},
	};
	static const struct {
		const char *text, *sentence;
	} bad[] = {
		{"", "mount '': expected PATH[:TARGET][:ro|:rw]"},
		{":/in", "mount ':/in': expected PATH[:TARGET][:ro|:rw]"},
		{"d:/a:/b", "mount 'd:/a:/b': expected PATH[:TARGET][:ro|:rw]"},
		{"d:wr", "mount 'd:wr': the target must be an absolute path (modes are ro and rw)"},
		{"~/d", "mount '~/d': ~ is not expanded, write the path out"},
		{"d:/", "mount 'd:/': nothing can be mounted on '/' in a box"},
		{"d:/x/../..", "mount 'd:/x/../..': nothing can be mounted on '/' in a box"},
		{"d:/proc/1", "mount 'd:/proc/1': nothing can be mounted on '/proc/1' in a box"},
		{"/dev", "mount '/dev': nothing can be mounted on '/dev' in a box"},
		{"d:/sys", "mount 'd:/sys': nothing can be mounted on '/sys' in a box"},
		{"d:/hemra/x", "mount 'd:/hemra/x': nothing can be mounted on '/hemra/x' in a box"},
		{"d:/tests", "mount 'd:/tests': nothing can be mounted on '/tests' in a box"},
	};

	(void)state;
	put("d/x", "");
	assert_int_equal(symlink("d", "link"), 0);
	for (size_t i = 0; i < array_count(good); i++) {
		autofree char *source = with_place(good[i].source),
			      *target = with_place(good[i].target);
		struct plan_mount m;
		struct err err = {0};

		if (settings_parse_mount(good[i].text, place(), &m, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(m.source, source);
		assert_string_equal(m.target, target);
		assert_int_equal(m.writable, good[i].writable);
		free(m.source);
		free(m.target);
	}
	for (size_t i = 0; i < array_count(bad); i++) {
		struct plan_mount m;
		struct err err = {0};

		assert_int_equal(settings_parse_mount(bad[i].text, place(), &m, &err), -EINVAL);
		assert_string_equal(err.text, bad[i].sentence);
	}
}

static void read_text(const char *text, struct settings *ret)
{
	struct err err = {0};

	put("layer.toml", text);
	if (settings_read_file("layer.toml", ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void what_upper_says_holds(void **state)
{
	struct settings lower, upper;

	(void)state;
	read_text(
		"attempts = 1\nconcurrency = 2\ndeadline = \"1m\"\nkeep = \"all\"\nredact = false\n"
		"tasks = [\"/a\", \"/b\"]\nstore = \"/s\"\n"
		"[sandbox]\nkind = \"local\"\nmemory = \"1G\"\npids = 10\n"
		"[limits]\nhandshake = \"1s\"\nline = \"2K\"\n",
		&lower);
	read_text("attempts = 5\ntasks = [\"/c\"]\nredact = true\n"
		  "[sandbox]\nmemory = \"0\"\n"
		  "[limits]\nline = \"3K\"\nartifact_files = 7\n",
		&upper);
	settings_lay_over(&lower, &upper);
	settings_done(&upper);
	assert_int_equal(lower.attempts, 5);
	assert_int_equal(lower.concurrency, 2);
	assert_int_equal(lower.deadline_ms, 60000);
	assert_int_equal(lower.keep, KEEP_ALL);
	assert_int_equal(lower.redact, 1);
	assert_int_equal(strv_count(lower.tasks), 1);
	assert_string_equal(lower.tasks[0], "/c");
	assert_string_equal(lower.store, "/s");
	assert_int_equal(lower.kind, SANDBOX_LOCAL);
	assert_true(lower.limit_said_memory);
	assert_int_equal(lower.limits.memory_bytes, 0); /* "0" was said */
	assert_int_equal(lower.limits.pids, 10);
	assert_int_equal(lower.bounds.handshake_ms, 1000);
	assert_int_equal(lower.bounds.line_bytes, 3072);
	assert_int_equal(lower.bounds.artifact_files, 7);
	assert_int_equal(lower.bounds.events_bytes, 0); /* nobody said it */
	settings_done(&lower);
}

static void some_lists_are_united(void **state)
{
	struct settings lower, upper;

	(void)state;
	put("d/x", "");
	read_text("env = [\"A\", \"B\"]\n[secrets]\nK = \"env:OLD\"\nL = \"env:L\"\n"
		  "[sandbox]\nweaker = [\"probe\"]\nmounts = [\"/usr:/one\", \"/usr:/two\"]\n"
		  "[require]\nisolation = [\"network_block\"]\n[verifier]\nenv = [\"V\"]\n",
		&lower);
	read_text(
		"env = [\"B\", \"C\"]\n[secrets]\nK = \"env:NEW\"\n"
		"[sandbox]\nweaker = [\"seccomp\"]\nmounts = [\"/etc:/two:rw\", \"/usr:/three\"]\n"
		"[require]\nisolation = [\"file_system\"]\n[verifier]\nenv = [\"W\"]\n",
		&upper);
	settings_lay_over(&lower, &upper);
	settings_done(&upper);
	assert_int_equal(strv_count(lower.env), 3);
	assert_int_equal(lower.secret_count, 2);
	assert_string_equal(lower.secrets[0].reference, "env:NEW");
	assert_string_equal(lower.secrets[1].reference, "env:L");
	assert_int_equal(lower.weaker, WEAKER_PROBE | WEAKER_SECCOMP);
	assert_int_equal(lower.require, ISOLATION_NETWORK_BLOCK | ISOLATION_FILE_SYSTEM);
	assert_int_equal(lower.mount_count, 3);
	assert_string_equal(lower.mounts[1].source, "/etc"); /* the same target: upper's holds */
	assert_true(lower.mounts[1].writable);
	assert_int_equal(strv_count(lower.verifier_env_names), 2);
	assert_int_equal(strv_count(lower.files), 1); /* the same file twice */
	settings_done(&lower);
}

static void the_examples_of_the_docs(void **state)
{
	autofree char *run = example("run.toml"), *user = example("config.toml");
	struct settings s;
	struct err err = {0};

	(void)state;
	put("run.toml", run);
	if (settings_read_file("run.toml", &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.attempts, 3);
	settings_done(&s);
	put("home/.config/hemra/config.toml", user);
	if (settings_read_user(&s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.concurrency, 4);
	settings_done(&s);
}

int test_settings(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_full_run_file, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			an_empty_file_says_nothing, place_make, place_remove),
		cmocka_unit_test_setup_teardown(bad_run_files, place_make, place_remove),
		cmocka_unit_test_setup_teardown(no_secret_is_printed, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			files_that_cannot_be_read, place_make, place_remove),
		cmocka_unit_test_setup_teardown(the_users_file, place_make, place_remove),
		cmocka_unit_test_setup_teardown(mounts, place_make, place_remove),
		cmocka_unit_test_setup_teardown(what_upper_says_holds, place_make, place_remove),
		cmocka_unit_test_setup_teardown(some_lists_are_united, place_make, place_remove),
		cmocka_unit_test_setup_teardown(the_examples_of_the_docs, place_make, place_remove),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
