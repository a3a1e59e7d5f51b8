/* SPDX-License-Identifier: Apache-2.0 */
/* What a command sees inside. */

#include "tests.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "rig.h"

static struct rig r;

/* Scripts and what they print in a native box, as root and as user alike. */
static const struct {
	const char *script, *output;
} cases[] = {
	{"id -u; id -g; id -un; id -G", "1000\n1000\nagent\n1000\n"},
	{"cat /proc/1/comm; echo $$", "hemra-init\n2\n"},
	{"tr '\\0' ' ' </proc/1/cmdline", "hemra-init "},
	{"hostname; echo $HOME; pwd; umask", "hemra\n/home/agent\n/tmp\n0022\n"},
	{"cd /proc; for p in [0-9]*; do test $p -gt 3 && echo $p; done; true", ""},
	{"grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\t' ' '",
		"CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n"
		"CapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n"},
	{"cut -d: -f3 /proc/self/cgroup | sort -u", "/\n"},
	{"ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "}, /* 3 is ls's own */
	{"ls -A /home/agent /tmp /run /dev/shm", "/dev/shm:\n\n/home/agent:\n\n/run:\n\n/tmp:\n"},
	{"touch /home/agent/a /tmp/a /run/a /dev/shm/a && echo made", "made\n"},
	{"ls /sys /root /opt /mnt /srv /boot 2>/dev/null; true", ""},
	{"ls /dev | tr '\\n' ' '",
		"fd full null ptmx pts random shm stderr stdin stdout tty urandom zero "},
	{"head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; echo x >/dev/null && echo null",
		"4\n4\nnull\n"},
	{"ls -l /proc/self/ns/user >/dev/null && cat /proc/net/dev | grep -c :", "1\n"},
	{"env | grep -v '^_=\\|^PWD=\\|^SHLVL=\\|^OLDPWD=' | sort",
		"HOME=/home/agent\nLANG=C.UTF-8\nPATH=/usr/bin:/bin\n"},
	{"ulimit -c; ulimit -Hc", "0\n0\n"}, /* in blocks of 512: one byte is none */
	{"chmod u+s /bin/true 2>/dev/null || echo refused; : >/tmp/x; chmod 4755 /tmp/x 2>/dev/null || echo refused",
		"refused\nrefused\n"},
	{"mkfifo /tmp/pipe && echo made; mknod /tmp/dev c 1 3 2>/dev/null || echo refused",
		"made\nrefused\n"},
};

static void as_promised(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(cases); i++) {
		rig_init(&r, SANDBOX_NATIVE);
		rig_shell(&r, cases[i].script);
		assert_int_equal(rig_run(&r), 0);
		if (r.failed || r.exec_failed)
			fail_msg("%s", r.error.text);
		if (r.broken_count > 0)
			fail_msg("broken: %s", r.broken);
		if (strcmp(r.output, cases[i].output) != 0)
			fail_msg("%s: printed\n%s%sinstead of\n%s", cases[i].script, r.output,
				r.errors, cases[i].output);
	}
}

/* Real programs: interpreters, a compiler, threads. What this machine lacks is left out. */
static void programs_work(void **state)
{
	static const char *const scripts[][2] = {
		{"/usr/bin/python3",
			"python3 -c 'import threading,tempfile,ssl;t=threading.Thread(target=print,"
			"args=(\"ok\",));t.start();t.join()'"},
		{"/usr/bin/gcc",
			"cd /tmp && echo 'int main(void){return 0;}' >a.c && gcc a.c && ./a.out && echo ok"},
		{"/usr/bin/git",
			"cd && git init -q . && git -c user.name=a -c user.email=a@b commit -q "
			"--allow-empty -m x && echo ok"},
		{"/usr/bin/perl", "perl -e 'print \"ok\\n\"'"},
		{"/usr/bin/node", "node -e 'console.log(\"ok\")'"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(scripts); i++) {
		if (access(scripts[i][0], X_OK) < 0)
			continue;
		rig_init(&r, SANDBOX_NATIVE);
		rig_shell(&r, scripts[i][1]);
		assert_int_equal(rig_run(&r), 0);
		if (strcmp(r.output, "ok\n") != 0)
			fail_msg("%s: %s%s", scripts[i][1], r.output, r.errors);
	}
}

static void descriptors_are_closed(void **state)
{
	autoclose int secret = -1;

	(void)state;
	secret =
		fcntl(STDIN_FILENO, F_DUPFD, 77); /* not CLOEXEC, as a careless library leaves it */
	rig_init(&r, SANDBOX_NATIVE);
	rig_shell(&r, "ls /proc/self/fd | tr '\\n' ' '");
	assert_int_equal(rig_run(&r), 0);
	assert_string_equal(r.output, "0 1 2 3 ");
}

/* Nobody may call the variables of the operator by name: there are none. */
static void environment_is_empty(void **state)
{
	(void)state;
	assert_int_equal(setenv("HEMRA_UNIT_SECRET", "value", 1), 0);
	for (int kind = 0; kind < SANDBOX_KIND_COUNT; kind++) {
		rig_init(&r, (enum sandbox_kind)kind);
		rig_shell(&r, "env; cat /proc/1/environ /proc/$PPID/environ 2>/dev/null");
		assert_int_equal(rig_run(&r), 0);
		assert_null(strstr(r.output, "HEMRA_UNIT_SECRET"));
		assert_non_null(strstr(r.output, "HOME=/home/agent"));
	}
	assert_int_equal(unsetenv("HEMRA_UNIT_SECRET"), 0);
}

static void weaker_is_weaker(void **state)
{
	(void)state;
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.weaker = WEAKER_SECCOMP | WEAKER_LANDLOCK;
	rig_shell(&r, "grep -E '^Seccomp:' /proc/self/status | tr '\\t' ' '");
	assert_int_equal(rig_run(&r), 0);
	if (r.broken_count > 0)
		fail_msg("broken: %s", r.broken);
	assert_string_equal(r.output, "Seccomp: 0\n");
	assert_null(rig_claim(&r, CLAIM_SYS_CLONE3)); /* what is off is not claimed */
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.weaker = WEAKER_PROBE;
	r.argv[0] = "true";
	assert_int_equal(rig_run(&r), 0);
	assert_int_equal(r.claim_count, 0);
	assert_true(r.exited);
}

int test_inside(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_promised),
		cmocka_unit_test(programs_work),
		cmocka_unit_test(descriptors_are_closed),
		cmocka_unit_test(environment_is_empty),
		cmocka_unit_test(weaker_is_weaker),
	};

	return cmocka_run_group_tests_name(
		is_user() ? "inside, user" : "inside, root", tests, NULL, NULL);
}
