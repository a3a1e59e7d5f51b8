# SPDX-License-Identifier: Apache-2.0
"""What hostile testers found once; each with what must still work beside it."""

import json
import os
import stat

from house import write

GRADE = "#!/bin/sh\necho 0.5 >/logs/verifier/reward.txt\n"
FORGED = "#!/bin/sh\\necho 1 >/logs/verifier/reward.txt\\n"


def bind_run(hemra, command):
    """A run whose workspace is the very directory that holds the task."""
    hemra.harness("agent", "play.py", "shell", command)
    hemra.task(test="echo 0.5 >/logs/verifier/reward.txt\n")
    hemra.run_file(["agent"], ["tasks/one"], "[sandbox]\nworkspace = \"bind\"\n")
    return hemra.run("run", "run.toml", "--json", "-C", hemra.cwd, "--store", hemra.dir + "/elsewhere")


def test_an_agent_cannot_rewrite_the_tests_that_grade_it(hemra):
    """The task lies in the bound workspace: its tests were set aside before the agent ran.

    Trust page: record.tests
    """
    done = bind_run(hemra, f"printf '{FORGED}' >tasks/one/tests/test.sh")
    row = done.json["attempts"][0]
    with open(hemra.cwd + "/tasks/one/tests/test.sh", encoding="utf-8") as file:
        assert "echo 1 " in file.read(), "the control: the agent did write it"
    assert row["score"] == 0.5, repr(done)


def test_a_task_that_changed_after_it_was_planned_is_not_graded_by_it(hemra):
    """The second attempt of a run finds the tests that the first one rewrote."""
    hemra.harness("agent", "play.py", "shell", f"printf '{FORGED}' >tasks/one/tests/test.sh")
    hemra.task(test="echo 0.5 >/logs/verifier/reward.txt\n")
    hemra.run_file(["agent"], ["tasks/one"], "attempts = 2\n[sandbox]\nworkspace = \"bind\"\n")
    done = hemra.run("run", "run.toml", "--json", "-C", hemra.cwd, "--store", hemra.dir + "/elsewhere")
    first, second = done.json["attempts"]
    assert first["score"] == 0.5, repr(done)
    assert (second["outcome"], second["graded"]) == ("infra:setup", False), repr(done)
    assert "changed after it was planned" in second["reason"]


def test_what_is_hemras_own_is_not_mounted(hemra):
    """Trust page: box.own"""
    assert hemra.run("exec", "--", "true").status == 0
    keys = hemra.state + "/hemra/keys"
    assert os.path.exists(keys + "/seal.key")
    for words in (["--mount", keys], ["--mount", keys + "/seal.key:/opt/k"], ["--mount", keys + ":/mnt/k"],
                  ["--mount", hemra.store + "/events:/mnt/e:rw"], ["--mount", hemra.store],
                  ["-C", keys], ["-C", hemra.store]):
        done = hemra.run("exec", *words, "--", "true")
        assert done.status == 125, (words, repr(done))
        assert "hemra's own and never shown in a box" in done.err, (words, repr(done))
    # a directory that only holds them can be mounted, without them
    done = hemra.run("exec", "--mount", hemra.dir + ":/opt/d", "--", "sh", "-c",
                     "ls /opt/d; ls -A /opt/d/store /opt/d/state/hemra/keys")
    assert "home" in done.out and "seal.key" not in done.out and "events" not in done.out, repr(done)


def test_a_value_among_the_words_of_a_command_is_refused(hemra):
    value = "tok-9f8e7d6c5b4a"
    done = hemra.run("exec", "--env", "TOK", "--", "/bin/echo", "x" + value, env={"TOK": value})
    assert done.status == 125 and "TOK" in done.err and value not in done.out + done.err, repr(done)
    done = hemra.run("exec", "--env", "TOK", "--", "sh", "-c", "echo \"$TOK\"", env={"TOK": value})
    assert done.status == 0 and value in done.out


def test_a_disk_limit_that_nothing_enforces_is_refused(hemra):
    done = hemra.run("exec", "--disk", "20M", "--", "true")
    assert done.status == 125 and "'disk' cannot be enforced" in done.err, repr(done)
    done = hemra.run("exec", "--disk", "20M", "--weaker", "resource_limit", "--", "true")
    assert done.status == 0, repr(done)


def test_what_an_agent_made_unreadable_does_not_keep_it_from_being_graded(hemra):
    row, done = hemra.attempt(
        "play.py", "shell", "mkdir d; touch d/x f; chmod 000 f d", test=GRADE.split("\n", 1)[1])
    assert (row["graded"], row["score"]) == (True, 0.5), repr(done)


def test_holes_stay_holes_when_the_workspace_is_copied(hemra):
    row, done = hemra.attempt(
        "play.py", "shell", "truncate -s 1T sparse; echo end >>sparse",
        test="[ $(stat -c %s sparse) -gt 1000000000000 ] && [ $(stat -c %b sparse) -lt 1000 ] && "
             "echo 1 >/logs/verifier/reward.txt\n")
    assert row["score"] == 1, repr(done)


def test_closed_standard_descriptors_never_become_ours(hemra):
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        p = hemra.popen(["sh", "-c", f"exec {hemra.place.binary} exec --no-record -- true {closed}"])
        assert p.wait(timeout=30) == 0, closed


def test_set_user_and_group_id_files_cannot_be_made(hemra):
    """Trust page: box.setid"""
    done = hemra.run("exec", "--no-record", "--", "python3", "-c",
                     "import os\n"
                     "open('f','w').close()\n"
                     "for mode in (0o4755, 0o2755, 0o6755):\n"
                     "    try: os.chmod('f', mode); print('made', oct(mode))\n"
                     "    except PermissionError: print('refused')\n"
                     "os.chmod('f', 0o755); print('plain')\n")
    assert done.out.split() == ["refused"] * 3 + ["plain"], repr(done)
    mode = os.stat(hemra.cwd + "/f").st_mode
    assert stat.S_IMODE(mode) == 0o755


def test_a_read_only_file_cannot_be_replaced_by_moving_its_parent(hemra):
    """The harness file lies in the bound workspace."""
    hemra.harness("agent", "play.py", "shell",
                  "mv harnesses h2; mkdir harnesses; cp h2/* harnesses/; echo '# evil' >>harnesses/agent.toml; "
                  "mkdir plain; mv plain moved")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], "[sandbox]\nworkspace = \"bind\"\n")
    done = hemra.run("run", "run.toml", "--json", "-C", hemra.cwd, "--store", hemra.dir + "/elsewhere")
    assert done.out, repr(done)
    with open(hemra.cwd + "/harnesses/agent.toml", encoding="utf-8") as file:
        assert not file.read().endswith("# evil\n")
    assert os.path.isdir(hemra.cwd + "/moved"), "the control: other directories can be moved"


def test_git_can_be_used_and_its_configuration_cannot(hemra):
    setup = hemra.popen(["sh", "-c", "git init -q . && git -c user.name=a -c user.email=a@b commit -q "
                                     "--allow-empty -m one"])
    assert setup.wait(timeout=60) == 0
    done = hemra.run("exec", "--no-record", "--", "sh", "-c",
                     "echo x >f; git add f && git -c user.name=a -c user.email=a@b commit -q -m two; "
                     "git log --oneline | wc -l; git config core.fsmonitor /bin/false; "
                     "echo evil >.git/hooks/post-commit; true")
    assert done.out.split()[0] == "2", repr(done)
    with open(hemra.cwd + "/.git/config", encoding="utf-8") as file:
        assert "fsmonitor" not in file.read()
    assert not os.path.exists(hemra.cwd + "/.git/hooks/post-commit")
    write(hemra.cwd + "/plain", "")


def test_what_git_would_now_obey_is_named_at_the_end(hemra):
    """A .git/commondir that is not there cannot be kept from being made; it is named.

    Trust page: box.planted
    """
    assert hemra.popen(["git", "init", "-q", "."]).wait(timeout=60) == 0
    done = hemra.run("exec", "--json", "--", "sh", "-c", "echo ../evil >.git/commondir")
    assert ".git/commondir" in done.err, repr(done)
    row = json.loads(done.out.splitlines()[-1])["attempts"][0]
    assert row["planted"] == ".git/commondir", repr(done)
    assert {"planted": [".git/commondir"]} in hemra.of_type(row["attempt"], "workspace")
    done = hemra.run("exec", "--no-record", "--", "true")
    assert "obey" not in done.err, repr(done)
