# SPDX-License-Identifier: Apache-2.0
"""hemra exec in its plain form: pipes, statuses, bytes."""

import hashlib
import os

import pytest

import house


@pytest.mark.parametrize("command,status", [
    (["true"], 0), (["false"], 1), (["sh", "-c", "exit 42"], 42),
    (["/etc/passwd"], 126), (["no-such-program"], 127), (["sh", "-c", "kill -KILL $$"], 137),
    (["sh", "-c", "kill -TERM $$"], 143)])
def test_status_passes_through(hemra, command, status):
    done = hemra.run("exec", "--", *command)
    assert done.status == status, repr(done)


def test_streams_are_byte_exact(hemra):
    data = bytes(range(256)) * 40000
    p = hemra.start("exec", "--", "cat", stdin=house.subprocess.PIPE)
    out, err = p.communicate(data, timeout=120)
    assert (p.returncode, err) == (0, b"")
    assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()
    streams = hemra_record(hemra)[-1]
    assert streams["stdin"]["bytes"] == streams["stdout"]["bytes"] == len(data)
    assert streams["stdout"]["sha256"] == hashlib.sha256(data).hexdigest()


def hemra_record(hemra):
    store = hemra.store if os.path.exists(hemra.store) else hemra.state + "/hemra/store"
    hemra.store = store
    return [hemra.of_type(a, "exec.streams")[0] for a in hemra.attempts()]


def test_streams_stay_apart_and_their_content_is_not_recorded(hemra):
    done = hemra.run("exec", "--", "sh", "-c", "echo to-out-1; echo to-err-1 >&2")
    assert (done.out, done.err) == ("to-out-1\n", "to-err-1\n")
    hemra_record(hemra)
    with open(f"{hemra.store}/events/{hemra.attempts()[0]}.jsonl", encoding="utf-8") as file:
        text = file.read()
    assert "to-out-1\\n" not in text.replace("echo to-out-1", "")
    hemra.run("exec", "--record-output", "--", "sh", "-c", "echo kept-$((6*7))")
    with open(f"{hemra.store}/events/{hemra.attempts()[-1]}.jsonl", encoding="utf-8") as file:
        assert "kept-42" in file.read()


def test_no_record_keeps_nothing(hemra):
    assert hemra.run("exec", "--no-record", "--", "true").status == 0
    assert not os.path.exists(hemra.store)
    assert not os.path.exists(hemra.state + "/hemra/store")


def test_works_on_the_current_directory(hemra):
    os.mkdir(hemra.cwd + "/sub")
    hemra.own(hemra.cwd)
    done = hemra.run("exec", "--", "sh", "-c", "echo hi >file; pwd; id -u", cwd=hemra.cwd + "/sub")
    assert done.status == 0, repr(done)
    assert os.stat(hemra.cwd + "/sub/file").st_uid == hemra.uid
    assert done.out.splitlines()[1] != "0"
    copied = hemra.run("exec", "--workspace-mode", "copy", "--", "sh", "-c", "echo x >other; cat file",
                       cwd=hemra.cwd + "/sub")
    assert copied.out == "hi\n" and not os.path.exists(hemra.cwd + "/sub/other")


def test_deadline_is_124(hemra):
    done = hemra.run("exec", "--deadline", "1s", "--", "sleep", "600")
    assert done.status == 124, repr(done)


def test_options_end_at_the_command(hemra):
    done = hemra.run("exec", "echo", "--no-record", "--json")
    assert done.out == "--no-record --json\n", repr(done)


def test_environment_is_empty_but_for_the_named(hemra):
    """Trust page: secrets.empty"""
    done = hemra.run("exec", "--env", "WANTED", "--", "env",
                     env={"WANTED": "yes", "UNWANTED": "no", "AWS_SECRET_ACCESS_KEY": "no"})
    names = {line.split("=")[0] for line in done.out.splitlines()}
    assert "WANTED" in names and not names & {"UNWANTED", "AWS_SECRET_ACCESS_KEY"}, repr(done)
    assert names - {"WANTED"} <= {"PATH", "HOME", "USER", "LANG", "TMPDIR", "TERM", "PWD", "SHLVL", "_",
                                  "LOGNAME", "SHELL"} | {n for n in names if n.startswith("HEMRA_")}


def test_mounts(hemra):
    for name in ("read", "write"):
        os.mkdir(f"{hemra.dir}/{name}")
        house.write(f"{hemra.dir}/{name}/file", "in\n")
    hemra.own()
    done = hemra.run("exec", "--mount", f"{hemra.dir}/read", "--mount", f"{hemra.dir}/write:rw", "--",
                     "sh", "-c", f"cat {hemra.dir}/read/file; echo x >{hemra.dir}/write/new; "
                                 f"echo x >{hemra.dir}/read/new")
    assert done.out == "in\n" and done.status != 0, repr(done)
    assert os.path.exists(hemra.dir + "/write/new") and not os.path.exists(hemra.dir + "/read/new")


def test_a_program_beyond_the_box_is_named_with_the_mount_that_shows_it(hemra):
    path = house.write(hemra.dir + "/tools/mytool", "#!/bin/sh\necho mine\n", 0o755)
    hemra.own()
    env = {"PATH": os.path.dirname(path) + ":/usr/bin:/bin"}
    done = hemra.run("exec", "--", "mytool", env=env)
    assert done.status == 127, repr(done)
    assert "--mount" in done.err and os.path.dirname(path) in done.err


def test_json_has_outcome_and_status(hemra):
    done = hemra.run("exec", "--json", "--", "sh", "-c", "exit 3")
    assert done.status == 3
    report = done.json
    row = report["attempts"][0] if "attempts" in report else report
    assert row["exit_status"] == 3


def test_a_signal_reaches_the_command(hemra):
    p = hemra.start("exec", "--", "sh", "-c", "trap 'echo caught; exit 9' INT TERM; echo ready; "
                                              "while :; do sleep 0.1; done")
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(15)
    done = hemra.finish(p, seconds=60)
    assert done.status in (9, 143), repr(done)
