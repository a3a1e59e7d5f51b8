/* SPDX-License-Identifier: Apache-2.0 */
/* Covered and read-only paths, and the ways that lead there; repositories of every shape. What is
 * refused in one box works in its twin, in which the rule is left out. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "rig.h"

/* Every argument is one attempt; prints the errno's name, or "ok". */
/* clang-format off */
#define TRY \
	"t() { python3 -c '\n" \
	"import ctypes,errno,os,sys\n" \
	"l=ctypes.CDLL(None,use_errno=True)\n" \
	"def swap(a,b):\n" \
	"  if l.renameat2(-100,a.encode(),-100,b.encode(),2)<0:\n" \
	"    raise OSError(ctypes.get_errno(),\"\")\n" \
	"def write(a): open(a,\"a\").write(\"evil\\n\")\n" \
	"d=dict(mv=os.rename,swap=swap,ln=os.link,rm=os.unlink,\n" \
	"  rmdir=os.rmdir,mkdir=os.mkdir,write=write)\n" \
	"for w in sys.argv[1:]:\n" \
	"  f,*a=w.split()\n" \
	"  try: d[f](*a); print(\"ok\")\n" \
	"  except OSError as e: print(errno.errorcode[e.errno])\n" \
	"' \"$@\"; }; t "
/* clang-format on */

static struct rig r;
static struct plan_mount mounts[2];

static void prepare(const char *place)
{
	rig_init(&r, SANDBOX_NATIVE);
	mounts[0] = (struct plan_mount){
		(char *)(uintptr_t)place, (char *)(uintptr_t) "/workspace", /* writable= */ true};
	r.spec.mounts = mounts;
	r.spec.mount_count = 1;
	r.spec.cwd = "/workspace";
}

static void run(const char *script, const char *output)
{
	rig_shell(&r, script);
	assert_int_equal(rig_run(&r), 0);
	if (r.failed || r.exec_failed)
		fail_msg("%s", r.error.text);
	if (r.broken_count > 0 && !r.keeps_claims)
		fail_msg("broken: %s", r.broken);
	if (strcmp(r.output, output) != 0)
		fail_msg("%s: printed\n%s%sinstead of\n%s", script, r.output, r.errors, output);
}

static void make_dir(const char *place, const char *name)
{
	assert_int_equal(mkdir(place_path(place, name), 0755), 0);
}

static void make_link(const char *text, const char *place, const char *name)
{
	assert_int_equal(symlink(text, place_path(place, name)), 0);
}

static void assert_text(const char *place, const char *name, const char *text)
{
	char seen[256];

	assert_true(file_read_small(AT_FDCWD, place_path(place, name), seen, sizeof(seen)) >= 0);
	assert_string_equal(seen, text);
}

static void covered(void **state)
{
	static const char script[] =
		"cat store/secret file 2>/dev/null; ls store 2>/dev/null; cat plain";
	char *place = place_make();
	char *store = place_path(place, "store");
	char *const paths[] = {
		store, place_path(place, "file"), place_path(place, "missing"), NULL};

	(void)state;
	make_dir(place, "store");
	place_write(store, "secret", "secret\n");
	place_write(place, "file", "hidden\n");
	place_write(place, "plain", "plain\n");
	for (int twin = 0; twin < 2; twin++) {
		prepare(place);
		r.spec.covered = paths;
		r.spec.without = twin ? BOX_WITHOUT_COVER : 0;
		r.keeps_claims = twin;
		run(script, twin ? "secret\nhidden\nsecret\nplain\n" : "plain\n");
		assert_int_equal(rig_claim(&r, CLAIM_FILES_STORE)->verdict,
			twin ? CLAIM_BROKEN : CLAIM_HELD);
	}
	/* neither renamed away nor removed, and the owner's right to chmod does not open it */
	prepare(place);
	r.spec.covered = paths;
	run("mv store elsewhere 2>/dev/null || echo refused; rm -rf store file 2>/dev/null || echo refused; "
	    "chmod 700 store 2>/dev/null; ls store 2>/dev/null; true",
		"refused\nrefused\n");
	assert_text(place, "store/secret", "secret\n");
	place_remove(place);
}

static void readonly(void **state)
{
	static const char script[] =
		"echo x 2>/dev/null >run.toml || echo refused; mv run.toml y 2>/dev/null || echo refused; "
		"touch sub/new 2>/dev/null || echo refused; cat run.toml 2>/dev/null; touch free && echo free";
	char *place = place_make();
	char *const paths[] = {place_path(place, "run.toml"), place_path(place, "sub"), NULL};

	(void)state;
	make_dir(place, "sub");
	place_write(place, "run.toml", "mine\n");
	prepare(place);
	r.spec.readonly = paths;
	run(script, "refused\nrefused\nrefused\nmine\nfree\n");
	prepare(place);
	run(script, "free\n");
	place_remove(place);
}

/* A read-only file and a covered directory, each two directories down. */
static void ways(void **state)
{
	static const char script[] = TRY
		"'mv a/way/run.toml a/way/x' 'rm a/way/run.toml' 'mv a/way/free a/way/run.toml' "
		"'swap a/way/free a/way/run.toml' 'ln a/way/run.toml a/way/hard' "
		"'write a/way/run.toml' 'mkdir a/way/new' 'mkdir a/new' 'swap a/way spare' "
		"'swap a spare' 'mv a/way a/x' 'mv a b' 'mv sub s2' 'rmdir sub' | tr '\\n' ' '";
	char *place = place_make();
	char *const readonly_paths[] = {place_path(place, "a/way/run.toml"), NULL};
	char *const covered_paths[] = {place_path(place, "sub/.hemra"), NULL};

	(void)state;
	make_dir(place, "a");
	make_dir(place, "a/way");
	make_dir(place, "spare");
	make_dir(place, "sub");
	make_dir(place, "sub/.hemra");
	place_write(place, "a/way/run.toml", "mine\n");
	place_write(place, "a/way/free", "");
	place_write(place, "sub/.hemra/key", "key\n");
	for (int twin = 0; twin < 2; twin++) {
		prepare(place);
		r.spec.readonly = readonly_paths;
		r.spec.covered = covered_paths;
		r.spec.without = twin ? BOX_WITHOUT_PINS : 0;
		/* EROFS and EXDEV: of the mount over the file */
		run(script,
			twin ? "EBUSY EBUSY EBUSY EBUSY EXDEV EROFS EEXIST EEXIST ok ok ENOENT "
			       "ok ok ENOENT "
			     : "EBUSY EBUSY EBUSY EBUSY EXDEV EROFS ok ok EXDEV EBUSY EBUSY EBUSY "
			       "EBUSY EBUSY ");
		if (!twin)
			assert_text(place, "a/way/run.toml", "mine\n");
	}
	assert_text(place, "s2/.hemra/key", "key\n");
	place_remove(place);
}

/* The way leads through links of the workspace. */
static void ways_by_links(void **state)
{
	static const char script[] = TRY
		"'rm link' 'mv link x' 'swap link spare' 'rm deep/file' 'mv deep x' 'write real/file' "
		"'write link/file' 'mv real r2' | tr '\\n' ' '";
	char *place = place_make();
	char *const paths[] = {place_path(place, "link/file"), NULL};

	(void)state;
	make_dir(place, "real");
	make_dir(place, "deep");
	make_dir(place, "spare");
	place_write(place, "real/true", "mine\n");
	make_link("../real/true", place, "deep/file");
	make_link("../deep/file", place, "real/file");
	make_link("./real", place, "link");
	for (int twin = 0; twin < 2; twin++) {
		prepare(place);
		r.spec.readonly = twin ? NULL : paths;
		run(script, twin ? "ok ENOENT ENOENT ok ok ENOENT ENOENT ok "
				 : "EBUSY EBUSY EBUSY EBUSY EBUSY EROFS EROFS EBUSY ");
		if (!twin)
			assert_text(place, "real/true", "mine\n");
	}
	place_remove(place);
}

/* A mount in a mount cannot be moved away with the directory that it is in. */
static void mount_in_mount(void **state)
{
	char *place = place_make();
	char *tools = place_make();

	(void)state;
	place_write(tools, "tool", "tool\n");
	for (int twin = 0; twin < 2; twin++) {
		prepare(place);
		mounts[1] = (struct plan_mount){
			tools, (char *)(uintptr_t) "/workspace/a/b/tools", /* writable= */ false};
		r.spec.mount_count = 2;
		r.spec.without = twin ? BOX_WITHOUT_PINS : 0;
		run(TRY "'mv a x' 'mv x a' 'write a/b/tools/tool' 'write a/b/made'; cat a/b/tools/tool",
			twin ? "ok\nok\nEROFS\nok\ntool\n" : "EBUSY\nENOENT\nEROFS\nok\ntool\n");
	}
	place_remove(tools);
	place_remove(place);
}

static void run_git(const char *place, const char *script, const char *held, const char *twin)
{
	prepare(place);
	r.spec.git_protected = true;
	run(script, held);
	prepare(place);
	r.spec.git_protected = true;
	r.spec.without = BOX_WITHOUT_GIT;
	run(script, twin);
}

static void git(void **state)
{
	static const char script[] = TRY
		"'write .git/index' 'write .git/config' 'write .git/config.worktree' 'write .git/hooks/x' "
		"'write .git/info/attributes' 'write .git/info/exclude' 'write .git/modules/m/config' "
		"'write .git/worktrees/w/commondir' 'write .git/worktrees/w/index' 'mv .git/worktrees/w .git/worktrees/x' "
		"'mv .git/info .git/x' 'mv .git other' | tr '\\n' ' '";
	static const char *const dirs[] = {".git", ".git/hooks", ".git/info", ".git/modules",
		".git/modules/m", ".git/worktrees", ".git/worktrees/w"};
	static const char *const files[] = {".git/config", ".git/config.worktree",
		".git/info/attributes", ".git/modules/m/config", ".git/worktrees/w/commondir"};
	char *place = place_make();

	(void)state;
	for (size_t i = 0; i < array_count(dirs); i++)
		make_dir(place, dirs[i]);
	for (size_t i = 0; i < array_count(files); i++)
		place_write(place, files[i], "mine\n");
	prepare(place);
	r.spec.git_protected = true;
	run(script, "ok EROFS EROFS EROFS EROFS ok EROFS EROFS ok EBUSY EBUSY EBUSY ");
	for (size_t i = 0; i < array_count(files); i++)
		assert_text(place, files[i], "mine\n");
	prepare(place);
	r.spec.git_protected = true;
	r.spec.without = BOX_WITHOUT_GIT;
	run(script, "ok ok ok ok ok ok ok ok ok ok ok ok ");
	place_remove(place);
}

/* What is not there is not made on the host, and the rest of git works. */
static void git_without_hooks(void **state)
{
	char *place = place_make();

	(void)state;
	make_dir(place, ".git");
	place_write(place, ".git/config", "");
	run_git(place, TRY "'write .git/config' 'mv .git x' 'mv x .git'", "EROFS\nEBUSY\nENOENT\n",
		"ok\nok\nok\n");
	assert_int_equal(access(place_path(place, ".git/hooks"), F_OK), -1);
	place_remove(place);
}

static void git_by_links(void **state)
{
	static const char script[] = TRY
		"'rm .git' 'mv repo x' 'write .git/config' 'rm repo/config' 'write repo/true' 'rm repo/hooks' "
		"'write repo/index' | tr '\\n' ' '";
	char *place = place_make();

	(void)state;
	make_dir(place, "repo");
	place_write(place, "repo/true", "mine\n");
	make_link("true", place, "repo/config");
	make_link("/nowhere/at/all", place, "repo/hooks");
	make_link("repo", place, ".git");
	prepare(place);
	r.spec.git_protected = true;
	run(script, "EBUSY EBUSY EROFS EBUSY EROFS EBUSY ok ");
	assert_text(place, "repo/true", "mine\n");
	prepare(place);
	r.spec.git_protected = true;
	r.spec.without = BOX_WITHOUT_GIT;
	run(script, "ok ok ENOENT ENOENT ENOENT ENOENT ENOENT ");
	place_remove(place);
}

/* A worktree's or submodule's pointer, to a repository in the workspace or to none. */
static void git_by_pointer(void **state)
{
	static const char script[] =
		TRY "'write .git' 'rm .git' 'write repo/config' 'mv repo x' 'write x/index'";
	char *place = place_make();

	(void)state;
	make_dir(place, "repo");
	place_write(place, "repo/config", "mine\n");
	place_write(place, ".git", "gitdir: repo\n");
	run_git(place, script, "EROFS\nEBUSY\nEROFS\nEBUSY\nENOENT\n", "ok\nok\nok\nok\nok\n");
	assert_int_equal(rename(place_path(place, "x"), place_path(place, "repo")), 0);
	place_write(place, ".git", "gitdir: ../../nowhere\n");
	run_git(place, script, "EROFS\nEBUSY\nok\nok\nok\n", "ok\nok\nENOENT\nENOENT\nok\n");
	place_remove(place);
}

/* Shapes that no repository has: never a reason to fail. */
static void git_odd(void **state)
{
	static const char *const links[] = {".git", "/", "..", "nowhere/x", "loop"};
	char *place = place_make();
	char *git_path = place_path(place, ".git");

	(void)state;
	make_link("loop", place, "loop");
	for (size_t i = 0; i < array_count(links); i++) {
		make_link(links[i], place, ".git");
		run_git(place, TRY "'mv .git x' 'mv x .git'", "EBUSY\nENOENT\n", "ok\nok\n");
		assert_int_equal(unlink(git_path), 0);
	}
	assert_int_equal(mkfifo(git_path, 0644), 0);
	run_git(place, TRY "'rm .git'", "EBUSY\n", "ok\n");
	place_write(place, ".git", "gitdir: \n");
	run_git(place, TRY "'rm .git'", "EBUSY\n", "ok\n");
	make_dir(place, ".git");
	make_dir(place, ".git/config");
	assert_int_equal(chmod(git_path, 0), 0);
	run_git(place, TRY "'mv .git x'", "EBUSY\n", "ok\n");
	place_remove(place);
}

int test_protect(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(covered),
		cmocka_unit_test(readonly),
		cmocka_unit_test(ways),
		cmocka_unit_test(ways_by_links),
		cmocka_unit_test(mount_in_mount),
		cmocka_unit_test(git),
		cmocka_unit_test(git_without_hooks),
		cmocka_unit_test(git_by_links),
		cmocka_unit_test(git_by_pointer),
		cmocka_unit_test(git_odd),
	};

	return cmocka_run_group_tests_name(
		is_user() ? "protect, user" : "protect, root", tests, NULL, NULL);
}
