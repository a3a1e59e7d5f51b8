/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts: their owners, and where they may be put. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "rig.h"

static struct rig r;
static struct plan_mount mounts[2];

static void prepare(const char *place, bool writable)
{
	rig_init(&r, SANDBOX_NATIVE);
	mounts[0] = (struct plan_mount){
		(char *)(uintptr_t)place, (char *)(uintptr_t) "/workspace", writable};
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

/* A workspace of any owner can be written, and what is made there has its owner: not the box's. */
static void owners(void **state)
{
	static const uid_t owners_of_root[] = {0, 1234};
	char *place = place_make();
	struct stat st;

	(void)state;
	for (size_t i = 0; i < (is_user() ? 1 : array_count(owners_of_root)); i++) {
		uid_t owner = is_user() ? geteuid() : owners_of_root[i];

		if (!is_user())
			assert_int_equal(chown(place, owner, owner), 0);
		assert_int_equal(chmod(place, 0700), 0);
		prepare(place, true);
		run("touch made && mkdir -p sub && stat -c %u . made", "1000\n1000\n");
		assert_int_equal(stat(place_path(place, "made"), &st), 0);
		assert_int_equal(st.st_uid, owner);
		assert_int_equal(stat(place_path(place, "sub"), &st), 0);
		assert_int_equal(st.st_uid, owner);
		assert_int_equal(unlink(place_path(place, "made")), 0);
		assert_int_equal(rmdir(place_path(place, "sub")), 0);
	}
	place_remove(place);
}

/* The steward has laid the workspace out for sandbox_owner(): no mapping is needed. */
static void copy_owner(void **state)
{
	char *place = place_make();
	struct stat st;
	uid_t uid;
	gid_t gid;

	(void)state;
	sandbox_owner(SANDBOX_NATIVE, &uid, &gid);
	assert_int_equal(chown(place, uid, gid), 0);
	prepare(place, true);
	run("touch made && stat -c %u made", "1000\n");
	assert_int_equal(stat(place_path(place, "made"), &st), 0);
	assert_int_equal(st.st_uid, uid);
	place_remove(place);
}

/* Root's sources may lie where only another user may go. */
static void shut_parents(void **state)
{
	char *place = place_make();
	char *inner = place_path(place, "inner");

	(void)state;
	assert_int_equal(mkdir(inner, 0755), 0);
	place_write(inner, "file", "text\n");
	if (!is_user())
		assert_int_equal(chown(place, 1234, 1234), 0);
	assert_int_equal(chmod(place, 0700), 0);
	prepare(inner, false);
	run("cat file; touch new 2>/dev/null || echo refused", "text\nrefused\n");
	place_remove(place);
}

static void targets(void **state)
{
	char *place = place_make();

	(void)state;
	place_write(place, "file", "text\n");
	prepare(place, true);
	mounts[0].target = (char *)(uintptr_t) "/home/agent/.config/tool";
	mounts[1] = (struct plan_mount){
		place_path(place, "file"), (char *)(uintptr_t) "/opt/deep/er/file", false};
	r.spec.mount_count = 2;
	r.spec.cwd = "/opt/deep";
	run("cat er/file /home/agent/.config/tool/file; touch /home/agent/.config/x && echo made; "
	    "echo x 2>/dev/null >er/file || echo refused",
		"text\ntext\nmade\nrefused\n");
	place_remove(place);
}

static void absolute_targets_only(void **state)
{
	char *place = place_make();
	static const char *const bad[] = {"/", "workspace", ""};

	(void)state;
	for (size_t i = 0; i < array_count(bad); i++) {
		prepare(place, true);
		mounts[0].target = (char *)(uintptr_t)bad[i];
		r.argv[0] = "true";
		assert_int_equal(rig_run(&r), -EINVAL);
		assert_non_null(strstr(r.error.text, "must be an absolute path"));
	}
	place_remove(place);
}

/* /var/tmp and the like are links in a box; where one is a target, it gives way. A link of another
 * mount is not ours to remove. */
static void links_as_targets(void **state)
{
	static const char *const ours[] = {"/var/tmp", "/bin", "/dev/stdout", "/var/tmp/x"};
	char *place = place_make();

	(void)state;
	place_write(place, "file", "text\n");
	for (size_t i = 0; i < array_count(ours); i++) {
		prepare(place, true);
		mounts[0].target = (char *)(uintptr_t)ours[i];
		r.spec.cwd = ours[i];
		r.argv[0] = "/usr/bin/cat";
		r.argv[1] = "file";
		assert_int_equal(rig_run(&r), 0);
		if (r.failed)
			fail_msg("%s: %s", ours[i], r.error.text);
		assert_string_equal(r.output, "text\n");
	}
	assert_int_equal(symlink("/etc", place_path(place, "out")), 0);
	prepare(place, true);
	mounts[1] = (struct plan_mount){place, (char *)(uintptr_t) "/workspace/out", false};
	r.spec.mount_count = 2;
	r.argv[0] = "true";
	assert_int_equal(rig_run(&r), 0);
	assert_true(r.failed);
	assert_int_equal(r.error.code, ELOOP);
	assert_non_null(strstr(r.error.text,
		"mount at '/workspace/out' in the box, where another mount has a link"));
	assert_int_equal(access(place_path(place, "out"), F_OK), 0);
	place_remove(place);
}

/* Names of every sort. */
static void odd_targets(void **state)
{
	static const char *const names[] = {
		"with space", "new\nline", "not\xff\xfeutf8", "q'u\"o\\te", "\\040"};
	char *place = place_make();
	char target[64];

	(void)state;
	place_write(place, "file", "text\n");
	for (size_t i = 0; i < array_count(names); i++) {
		(void)snprintf(target, sizeof(target), "/opt/%s/x", names[i]);
		prepare(place, true);
		mounts[0].target = target;
		r.spec.cwd = target;
		run("cat file; pwd -P | wc -c | grep -q . && echo there", "text\nthere\n");
	}
	place_remove(place);
}

/* A link in the workspace that leads out of it is followed in the box's own root, not the
 * host's. */
static void links_stay_inside(void **state)
{
	char *place = place_make();

	(void)state;
	assert_int_equal(symlink("/etc", place_path(place, "out")), 0);
	prepare(place, true);
	mounts[1] =
		(struct plan_mount){place, (char *)(uintptr_t) "/workspace/out/hemra-here", false};
	r.spec.mount_count = 2;
	r.keeps_claims = true;
	run("ls /etc/hemra-here | head -n 1", "out\n");
	assert_int_equal(access("/etc/hemra-here", F_OK), -1);
	place_remove(place);
}

/* The host's whole root as a source is the host's, without the box's own over it. More descriptors
 * than a packet takes go along. */
static void host_root_and_many(void **state)
{
	static char targets[10][32];
	struct plan_mount many[11];
	char *place = place_make();

	(void)state;
	place_write(place, "file", "of the host\n");
	assert_int_equal(chmod(place, 0755), 0); /* for /host, which keeps its owners */
	prepare(place, true);
	many[0] = (struct plan_mount){(char *)(uintptr_t) "/", (char *)(uintptr_t) "/host", false};
	for (size_t i = 0; i < array_count(targets); i++) {
		(void)snprintf(targets[i], sizeof(targets[i]), "/places/%zu", i);
		many[i + 1] = (struct plan_mount){place, targets[i], true};
	}
	r.spec.mounts = many;
	r.spec.mount_count = array_count(many);
	r.spec.cwd = "/";
	r.keeps_claims = true; /* the operator's home is in sight now */
	run(place_path(place_path("cat /host", place + 1), "file /places/0/file /places/9/file"),
		"of the host\nof the host\nof the host\n");
	place_remove(place);
}

int test_mounts(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),
		cmocka_unit_test(copy_owner),
		cmocka_unit_test(shut_parents),
		cmocka_unit_test(targets),
		cmocka_unit_test(absolute_targets_only),
		cmocka_unit_test(links_as_targets),
		cmocka_unit_test(odd_targets),
		cmocka_unit_test(links_stay_inside),
		cmocka_unit_test(host_root_and_many),
	};

	return cmocka_run_group_tests_name(
		is_user() ? "mounts, user" : "mounts, root", tests, NULL, NULL);
}
