# SPDX-License-Identifier: Apache-2.0
"""The box: what the probe says, what the hostile agent says, and what stands around it."""

import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

import house

CLAIM = re.compile(r'^\tX\((\w+), "(box\.[a-z_.0-9]+)"', re.M)


def claims():
    with open(house.ROOT + "/src/ground/terms/claim.h", encoding="utf-8") as file:
        return dict((name, key) for key, name in CLAIM.findall(file.read()))


def test_every_claim_was_tried_and_held(hemra):
    """Trust page: box.armed"""
    house.write(hemra.home + "/letter.txt", "dear\n")
    row, done = hemra.attempt("play.py", "ok")
    assert row["unexpected_claims"] == 0, repr(done)
    data = hemra.of_type(row["attempt"], "probe.result")[0]
    tried = {c["id"] for c in data["claims"] if c["verdict"] == "held"}
    optional = {"box.limit.memory", "box.limit.pids"}
    missing = set(claims()) - tried - optional
    assert not missing, f"not tried: {sorted(missing)}"
    assert len(tried) >= 10 and data["unexpected"] == 0


# What makes exactly one claim untrue, from outside: a home that lies where every box shows the system;
# a workspace that cannot be written. (variables of hemra's, mode of the workspace)
BROKEN = {
    "box.files.home": ({"HOME": "/usr/share"}, 0o755),
    "box.files.workspace": ({}, 0o555),
}


@pytest.mark.parametrize("claim", BROKEN)
def test_a_box_that_does_not_hold_is_never_used(hemra, claim):
    """Trust page: box.armed"""
    env, mode = BROKEN[claim]
    os.mkdir(hemra.cwd + "/ws")
    hemra.own(hemra.cwd)
    os.chmod(hemra.cwd + "/ws", mode)
    flags = ["--workspace", "ws", "--workspace-mode", "bind"]
    words = ["play.py", "python", "result()"]
    row, done = hemra.attempt(*words, flags=flags, env=env)
    assert (row["outcome"], row["graded"], row["unexpected_claims"]) == ("not_contained", False, 1), \
        repr(done)
    assert done.status == 4 and claim in row["reason"], repr(done)
    data = hemra.of_type(row["attempt"], "probe.result")[0]
    assert data["unexpected"] == 1
    assert {c["id"] for c in data["claims"] if c["verdict"] == "broken"} == {claim}
    kinds = {line["type"] for line in hemra.events(row["attempt"])}
    assert not any(k.startswith(("harness.", "verifier.")) for k in kinds), kinds
    assert "running" not in [d["state"] for d in hemra.of_type(row["attempt"], "attempt.state")]
    assert not os.listdir(hemra.cwd + "/ws")

    command = hemra.run("exec", "--", "touch", "ran", env=env, cwd=hemra.cwd + "/ws")
    assert command.status == 125 and claim in command.err, repr(command)
    assert not os.listdir(hemra.cwd + "/ws")

    # the control: told not to look, the same attempt runs; and so it does in a box that holds
    unseen, done = hemra.attempt(*words, flags=flags + ["--weaker", "probe"], env=env)
    assert unseen["outcome"] == "completed", repr(done)
    os.chmod(hemra.cwd + "/ws", 0o755)
    good, done = hemra.attempt(*words, flags=flags)
    assert good["outcome"] == "completed", repr(done)


def test_a_graders_box_that_does_not_hold_grades_nothing(as_root):
    """The agent's box is as it should be; what breaks the claim comes up while the agent works.

    Trust page: box.armed
    """
    hemra = as_root
    home = tempfile.mkdtemp(prefix="hemra-test-", dir="/usr/local/share")  # seen in every box
    try:
        os.chmod(home, 0o755)
        hemra.harness("agent", "play.py", "shell", "while [ ! -e go ]; do sleep 0.05; done")
        hemra.task()
        os.mkdir(hemra.cwd + "/ws")
        hemra.run_file(["agent"], ["tasks/one"])
        running = hemra.start("run", "run.toml", "--json", "--workspace", "ws", "--workspace-mode", "bind",
                              env={"HOME": home})
        attempt = house.wait_for(hemra.attempts)[0]
        assert house.wait_for(lambda: hemra.of_type(attempt, "harness.start"))
        house.write(home + "/letter.txt", "dear\n")
        house.write(hemra.cwd + "/ws/go", "")
        done = hemra.finish(running)
    finally:
        shutil.rmtree(home)
    row = done.json["attempts"][0]
    assert (row["graded"], row["score"]) == (False, None), repr(done)
    assert done.status == 3 and "did not hold" in row["reason"], repr(done)


def test_weaker_probe_is_shown_wherever_the_attempt_is_shown(hemra):
    row, done = hemra.attempt("play.py", "ok", flags=["--weaker", "probe"])
    assert row["weaker"] == ["probe"], repr(done)
    for words in (["show", row["attempt"]], ["show", done.json["run"]]):
        assert "probe" in hemra.run(*words).out
    assert hemra.of_type(row["attempt"], "attempt.settled")[0]["weaker"] == ["probe"]


def test_the_hostile_agent_is_stopped_everywhere(hemra):
    """The demo's agent with the demo's targets; the same agent outside a box gets through, which shows
    that its attempts are real.

    Trust page: box.hostile
    """
    folder = hemra.cwd + "/hostile"
    shutil.copytree(house.ROOT + "/demo/agents", folder)
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as named, \
            socket.socket(socket.AF_UNIX) as abstract:
        tcp.bind(("127.0.0.1", 0))
        named.bind(hemra.dir + "/witness.sock")
        abstract.bind("\0hemra-test-" + os.path.basename(hemra.dir))
        for listener in (tcp, named, abstract):
            listener.listen(8)
            listener.settimeout(0)
        os.chmod(hemra.dir + "/witness.sock", 0o777)
        victim = hemra.popen(["sleep", "600"])
        house.write(hemra.home + "/.ssh/id_rsa", "not a key\n")
        house.write(hemra.home + "/letter.txt", "dear\n")
        house.write(hemra.dir + "/bait", "bait\n")
        target = {"home": hemra.home, "home_names": [".ssh", "letter.txt"], "store": hemra.store,
                  "keys": hemra.state + "/hemra/keys", "bait": hemra.dir + "/bait",
                  "outside": hemra.dir + "/outside.txt", "pid": victim.pid, "pid_marker": "sleep",
                  "port": tcp.getsockname()[1], "abstract": "hemra-test-" + os.path.basename(hemra.dir),
                  "socket": hemra.dir + "/witness.sock", "uid": hemra.uid,
                  "secret_name": "TEST_SECRET"}
        house.write(folder + "/targets.json", json.dumps(target))
        hemra.own()
        house.write(f"{hemra.cwd}/harnesses/hostile.toml",
                    "name = \"hostile\"\nkind = \"program\"\n"
                    "command = [\"python3\", \"/opt/agents/hostile.py\"]\n"
                    f"mounts = [\"{folder}:/opt/agents:ro\"]\n")
        hemra.task(test="echo 0 >/logs/verifier/reward.txt\n")
        hemra.run_file(["hostile"], ["tasks/one"])
        done = hemra.run("run", "run.toml", "--json", env={"TEST_SECRET": "s3cret-of-the-test"})
        row = done.json["attempts"][0]
        assert row["outcome"] == "completed" and row["score"] == 0, repr(done)
        results = hemra.of_type(row["attempt"], "harness.tool_result")
        assert len(results) >= 16
        through = [(d["attempt"], d["result"]) for d in results if d["stopped"] is False]
        assert not through, f"not stopped: {through}"
        for listener in (tcp, named, abstract):
            with pytest.raises(BlockingIOError):
                listener.accept()
        assert victim.poll() is None
        assert not os.path.exists(hemra.dir + "/outside.txt")
        open_ways = outside_a_box(hemra, folder)
        assert {"home", "ssh", "bait", "processes", "loopback", "sockets", "secrets"} <= open_ways
        victim.kill()


def outside_a_box(hemra, folder):
    """Runs the gentler attempts of the same agent as the same user, outside a box: what gets through."""
    code = ("import sys, os; sys.path.insert(0, os.environ['FOLDER']); import hostile\n"
            "for name, _, function in hostile.ATTEMPTS:\n"
            "    if name in ('home', 'ssh', 'bait', 'processes', 'loopback', 'sockets', 'secrets'):\n"
            "        print(name, hostile.try_one(function, hostile.targets())[1])\n")
    p = hemra.popen([sys.executable if hemra.uid == 0 else house.PYTHON, "-B", "-c", code],
                    env={"FOLDER": folder, "TEST_SECRET": "s3cret-of-the-test"},
                    stdout=subprocess.PIPE)
    out = p.communicate(timeout=60)[0].decode()
    return {line.split()[0] for line in out.splitlines() if line.endswith("False")}


def box(hemra, command, *flags):
    """Runs a shell command in a box on the current directory; returns the Result."""
    return hemra.run("exec", *flags, "--", "sh", "-c", command)


def test_the_root_is_the_machines_system_and_nothing_else(hemra):
    done = box(hemra, "ls -A /; echo; ls -A ~ /home /root 2>/dev/null")
    names = set(done.out.split("\n\n")[0].split())
    assert {"usr", "etc", "proc", "tmp", "dev"} <= names, repr(done)
    assert not names & {"sys", "boot", "media", "mnt", "lost+found", "snap"}, names


def test_devices(hemra):
    names = set(box(hemra, "ls /dev").out.split())
    assert {"null", "zero", "full", "random", "urandom", "tty"} <= names
    assert not names & {"kmsg", "mem", "sda", "vda", "kvm", "fuse", "loop0", "net", "mapper"}, names


def test_store_and_run_file_are_covered_even_inside_the_workspace(hemra):
    """The store in the directory that the box works on is absent, the harness file is read-only.

    Trust page: box.covered
    """
    hemra.harness("agent", "play.py", "shell",
                  "ls -A; test ! -e .hemra/events && ! echo x >>harnesses/agent.toml && "
                  "! echo x >>run.toml && test -r run.toml && echo through >ok.txt")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "run.toml", "--json", "--workspace", ".", "--workspace-mode", "bind",
                     "--store", ".hemra")
    assert done.json["attempts"][0]["outcome"] == "completed", repr(done)
    assert os.path.exists(hemra.cwd + "/ok.txt")
    with open(hemra.cwd + "/run.toml", encoding="utf-8") as file:
        assert not file.read().endswith("x\n")


def test_workspace_of_root_or_home_is_refused(hemra):
    for where in ("/", hemra.home):
        done = hemra.run("exec", "--workspace", where, "--", "true")
        assert done.status == 125, repr(done)
        assert "workspace" in done.err


def test_git_hooks_are_read_only_in_bind_mode(hemra):
    """Trust page: box.covered"""
    for path in (".git/hooks/x", ".git/config"):
        house.write(f"{hemra.cwd}/{path}", "\n")
    hemra.own(hemra.cwd)
    done = box(hemra, "echo x >.git/hooks/y; echo x >>.git/config; echo y >.git/other; ls .git/hooks")
    assert "y" not in done.out.split() and os.path.exists(hemra.cwd + "/.git/other"), repr(done)
    assert "Read-only" in done.err


def native(hemra):
    """What doctor says that the native box can limit here."""
    return next(p for p in hemra.run("doctor", "--json").json["providers"] if p["name"] == "native")


def test_memory_limit_is_enforced_or_refused(hemra):
    more, can = "[sandbox]\nmemory = \"256M\"\n", native(hemra)
    assert ("resource_limit" in can["isolation"]) == (can["limits_memory"] and can["limits_pids"])
    if not can["limits_memory"]:
        hemra.harness("agent", "play.py", "ok")
        hemra.task()
        hemra.run_file(["agent"], ["tasks/one"], more)
        refused = hemra.run("run", "run.toml")
        assert refused.status == 4 and "memory" in refused.err, repr(refused)
        assert not hemra.attempts()
        row, done = hemra.attempt("play.py", "ok", more=more, flags=["--weaker", "resource_limit"])
        assert (row["outcome"], row["weaker"]) == ("completed", ["resource_limit"]), repr(done)
        return
    row, done = hemra.attempt("play.py", "memory", str(900 << 20), more=more)
    assert row["outcome"] == "limit:memory", repr(done)
    assert hemra.of_type(row["attempt"], "limit")[0]["which"] == "memory"
    assert hemra.of_type(row["attempt"], "harness.exit")[0]["oom"] is True
    row, done = hemra.attempt("play.py", "memory", str(100 << 20), more=more)
    assert row["outcome"] == "completed", repr(done)


def test_pids_limit(hemra):
    row, done = hemra.attempt("play.py", "forks", "400", more="[sandbox]\npids = 64\n")
    got = hemra.of_type(row["attempt"], "harness.message")[0]["got"]
    assert 30 < got < 64, repr(done)
    row, done = hemra.attempt("play.py", "forks", "100", more="[sandbox]\npids = 200\n")
    assert hemra.of_type(row["attempt"], "harness.message")[0]["got"] == 100, repr(done)


def test_death_of_the_box_is_complete(hemra):
    """Daemons, stopped and deaf processes in sessions of their own die with the box.

    Trust page: box.death
    """
    mark = "hemra-test-" + os.path.basename(hemra.dir)
    done = box(hemra, f"for i in 1 2 3; do setsid sh -c 'trap \"\" TERM HUP; sleep 600; : {mark}' & done; "
                      "setsid sh -c 'kill -STOP $$' & sleep 0.2; exit 0")
    assert done.status == 0, repr(done)
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                assert mark.encode() not in file.read(), path
        except (FileNotFoundError, ProcessLookupError):
            continue
