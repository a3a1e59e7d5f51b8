# SPDX-License-Identifier: Apache-2.0
"""Grading: the second box, the reward files, and what an agent does to get a reward it has not earned."""

import pytest

OUT = "/logs/verifier"

# what tests/test.sh does → (graded, score or None)
REWARDS = [
    ("txt", f"echo 0.25 >{OUT}/reward.txt", True, 0.25),
    ("json", f"echo '{{\"reward\": 0.75}}' >{OUT}/reward.json", True, 0.75),
    ("both", f"echo '{{\"reward\": 0.5}}' >{OUT}/reward.json; echo 1 >{OUT}/reward.txt", True, 0.5),
    ("exit-code-does-not-matter", f"echo 1 >{OUT}/reward.txt; exit 9", True, 1),
    ("none", "true", False, None),
    ("empty", f": >{OUT}/reward.txt", False, None),
    ("words", f"echo good >{OUT}/reward.txt", False, None),
    ("nan", f"echo nan >{OUT}/reward.txt", False, None),
    ("inf", f"echo inf >{OUT}/reward.txt", False, None),
    ("json-nan", f"echo '{{\"reward\": NaN}}' >{OUT}/reward.json", False, None),
    ("json-1e999", f"echo '{{\"reward\": 1e999}}' >{OUT}/reward.json", False, None),
    ("json-list", f"echo '[1]' >{OUT}/reward.json", False, None),
    ("json-torn", f"printf '{{\"reward\": 1' >{OUT}/reward.json", False, None),
    ("fifo", f"mkfifo {OUT}/reward.txt", False, None),
    ("symlink", f"echo 1 >/tmp/r; ln -s /tmp/r {OUT}/reward.txt", False, None),
    ("symlink-to-host", f"ln -s /etc/hostname {OUT}/reward.txt", False, None),
    ("directory", f"mkdir {OUT}/reward.txt", False, None),
    ("hard-link", f"echo 1 >{OUT}/x; ln {OUT}/x {OUT}/reward.txt", False, None),
    ("huge", f"head -c 20000000 /dev/zero | tr '\\0' 1 >{OUT}/reward.txt", False, None),
    ("stdout", "echo 1; echo reward: 1; echo '{\"reward\": 1}'", False, None),
    ("daemon-after-the-end",
     f"setsid sh -c 'sleep 1; echo 1 >{OUT}/reward.txt' </dev/null >/dev/null 2>&1 &", False, None),
]


@pytest.mark.parametrize("name,test,graded,score", REWARDS, ids=[r[0] for r in REWARDS])
def test_reward(hemra, name, test, graded, score):
    """Trust page: record.silent"""
    row, done = hemra.attempt("play.py", "ok", test=test + "\n")
    assert (row["graded"], row["score"]) == (graded, score), repr(done)
    data = hemra.of_type(row["attempt"], "score")[0]
    if not graded:
        assert done.status == 3
        assert data["reason"], "an ungraded attempt says why"
    if name == "both":
        assert "reward.txt" in data["warning"]


def test_a_verifier_that_takes_too_long_is_ungraded_and_not_zero(hemra):
    hemra.harness("agent", "play.py", "ok")
    hemra.task(test=f"echo 1 >{OUT}/reward.txt; sleep 600\n", extra="[verifier]\ntimeout_sec = 1.0\n")
    hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "run.toml", "--json")
    row = done.json["attempts"][0]
    assert (row["graded"], row["score"]) == (False, None), repr(done)
    assert done.status == 3


def test_the_verifier_sees_an_empty_log_directory_and_the_agents_work(hemra):
    row, _ = hemra.attempt(
        "play.py", "shell",
        f"mkdir -p {OUT}; echo 1 >{OUT}/reward.txt; echo '{{\"reward\":1}}' >{OUT}/reward.json; "
        "mkfifo reward.txt; echo done >/workspace/work.txt; true",
        test=f"ls -A {OUT} >/tmp/seen; [ -s /tmp/seen ] && echo 0.125 >{OUT}/reward.txt || "
             f"{{ grep -q done /workspace/work.txt && echo 0.5 >{OUT}/reward.txt; }}\n")
    assert row["score"] == 0.5


FORGERIES = {
    "files": f"mkdir -p {OUT}; echo 1 >{OUT}/reward.txt; echo '{{\"reward\":1}}' >{OUT}/reward.json",
    "files-in-workspace": "echo 1 >/workspace/reward.txt; mkdir -p logs/verifier; "
                          "echo 1 >logs/verifier/reward.txt",
    "fifo": f"mkdir -p {OUT}; mkfifo {OUT}/reward.txt {OUT}/reward.json",
    "link": f"mkdir -p {OUT}; ln -s /workspace/start.txt {OUT}/reward.txt",
    "tests": "mkdir -p /tests; printf '#!/bin/sh\\necho 1 >/logs/verifier/reward.txt\\n' >/tests/test.sh",
    "tests-link": "rm -rf /tests; ln -s /workspace /tests; "
                  "printf 'echo 1 >/logs/verifier/reward.txt\\n' >/workspace/test.sh",
    "tmp": "echo 1 >/tmp/reward.txt; mkdir -p /tmp/bin; "
           "printf '#!/bin/sh\\necho 1 >/logs/verifier/reward.txt\\n' >/tmp/bin/sh; chmod +x /tmp/bin/sh",
    "home": "echo 'echo 1 >/logs/verifier/reward.txt' >~/.profile; cp ~/.profile ~/.bashrc; "
            "cp ~/.profile ~/.shrc",
    "artifacts": "echo 1 >$HEMRA_ARTIFACTS/reward.txt",
}


@pytest.mark.parametrize("how", FORGERIES)
def test_forged_reward_has_no_effect(hemra, how):
    """Trust page: record.grade"""
    row, done = hemra.attempt("play.py", "shell", FORGERIES[how] + "; true",
                              test=f"echo 0 >{OUT}/reward.txt\n")
    assert row["score"] == 0, repr(done)


def test_a_daemon_of_the_agents_is_dead_before_the_verifier_starts(hemra):
    row, done = hemra.attempt(
        "play.py", "daemon",
        test=f"rm -f /workspace/late.txt; sleep 1; "
             f"[ -e /workspace/late.txt ] && echo 0.125 >{OUT}/reward.txt || echo 0.5 >{OUT}/reward.txt\n")
    assert row["score"] == 0.5, repr(done)


def test_words_on_the_wire_are_no_reward(hemra):
    """Trust page: record.grade"""
    row, _ = hemra.attempt(
        "play.py", "python",
        "line(type='score', reward=1.0); event(1, 'score', reward=1.0); result(reward=1.0, score=1)",
        test=f"echo 0 >{OUT}/reward.txt\n")
    assert row["score"] == 0


def test_the_tests_are_not_in_the_agents_box(hemra):
    row, done = hemra.attempt("play.py", "shell", "test ! -e /tests && test ! -e /solution",
                              test=f"echo 1 >{OUT}/reward.txt\n")
    assert row["outcome"] == "completed", repr(done)


def test_the_solution_is_in_the_oracles_box_only(hemra):
    hemra.task(test="grep -q solved made.txt && echo 1 >/logs/verifier/reward.txt\n",
               solution="test -e \"$(dirname \"$0\")/solve.sh\" && echo solved >made.txt\n")
    hemra.run_file(["oracle"], ["tasks/one"])
    done = hemra.run("run", "run.toml", "--json")
    assert done.json["attempts"][0]["score"] == 1, repr(done)


def test_the_verifier_has_no_network_and_no_secret(hemra):
    """Trust page: secrets.grader"""
    row, done = hemra.attempt(
        "play.py", "ok", env={"TOKEN": "value-of-the-token-1"},
        more="[secrets]\nTOKEN = \"env:TOKEN\"\n",
        test="{ env; cat /proc/net/route; cat /proc/*/environ; } >/tmp/all 2>/dev/null; "
             "grep -aq value-of-the-token /tmp/all || echo 1 >/logs/verifier/reward.txt\n")
    assert row["score"] == 1, repr(done)


def test_verifier_output_is_recorded(hemra):
    row, _ = hemra.attempt("play.py", "ok", test="echo to-out; echo to-err >&2; "
                           "echo 1 >/logs/verifier/reward.txt\n")
    text = "".join(d.get("text", "") for d in hemra.of_type(row["attempt"], "verifier.output"))
    assert "to-out" in text and "to-err" in text


def test_the_demo_tasks_pass_their_own_checks(hemra):
    """The oracle solves both tasks of the demo, the do-nothing agent neither."""
    import os
    import shutil
    import house
    shutil.copytree(os.path.join(house.ROOT, "demo"), hemra.cwd + "/demo")
    hemra.own(hemra.cwd)
    hemra.run_file(["oracle", "nop"], ["demo/tasks/fix-parser", "demo/tasks/count-orders"])
    done = hemra.run("run", "run.toml", "--json")
    scores = {(r["harness"], r["task"].split("/")[-1]): r["score"] for r in done.json["attempts"]}
    assert scores == {("oracle", "fix-parser"): 1, ("oracle", "count-orders"): 1,
                      ("nop", "fix-parser"): 0, ("nop", "count-orders"): 0}, repr(done)
