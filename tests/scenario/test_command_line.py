# SPDX-License-Identifier: Apache-2.0
"""The command line where its surroundings are odd: closed descriptors, limits, readers that leave."""

import json
import os
import resource
import signal
import subprocess

import pytest

import house

MISSING = [[fd for fd in range(3) if bits & 1 << fd] for bits in range(1, 8)]
VERBS = [["runs"], ["show", "abcd"], ["cancel", "abcd"], ["export", "abcd", "out"], ["verify"],
         ["rm", "abcd"], ["gc"], ["doctor"], ["run", "run.toml"], ["harness", "check", "oracle"]]


def without(descriptors):
    def close():
        for fd in descriptors:
            os.close(fd)
    return close


@pytest.mark.parametrize("descriptors", MISSING, ids=["".join(map(str, m)) for m in MISSING])
@pytest.mark.parametrize("words,status", [
    (["exec", "--no-record", "--", "true"], 0), (["exec", "--no-record", "--", "false"], 1),
    (["exec", "--no-record", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 3"], 3),
    (["version"], 0), (["show"], 2)], ids=["true", "false", "words", "version", "usage"])
def test_closed_standard_descriptors_change_nothing_else(hemra, words, status, descriptors):
    done = hemra.run(*words, seconds=30, preexec_fn=without(descriptors))
    assert done.status == status, repr(done)
    if words[-1].startswith("cat"):
        assert done.out == ("" if 1 in descriptors else "out\n"), repr(done)
        assert done.err == ("" if 2 in descriptors else "err\n"), repr(done)


def test_a_recorded_attempt_without_descriptors_is_whole(hemra):
    done = hemra.run("exec", "--", "sh", "-c", "echo hi", seconds=30, preexec_fn=without([0, 1, 2]))
    assert done.status == 0
    assert hemra.run("verify").status == 0


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [0, 1024, 65536])
def test_a_limit_on_file_sizes_is_an_error_with_a_sentence(hemra, size):
    done = hemra.run("exec", "--", "true", preexec_fn=limited(size))
    assert done.status == 125 and done.err.startswith("hemra: "), repr(done)
    assert "File too large" in done.err or "disk I/O error" in done.err, repr(done)
    run = hemra.run("run", "--harness", "oracle", "--task", hemra.task(), preexec_fn=limited(size))
    assert run.status == 3 and run.err.startswith("hemra: "), repr(run)


def test_signals_are_as_new_in_a_box(hemra):
    """Whatever hemra and who started it ignore; a limit on file sizes kills there as everywhere."""
    def ignore():
        for signo in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(signo, signal.SIG_IGN)
    for flags in ([], ["--sandbox", "local"]):
        done = hemra.run("exec", *flags, "--", "grep", "-E", "SigIgn|SigBlk", "/proc/self/status",
                         preexec_fn=ignore)
        assert done.out.split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16], repr(done)
    # without a box they are inherited
    control = subprocess.run(["grep", "SigIgn", "/proc/self/status"], preexec_fn=ignore,
                             capture_output=True, check=True, restore_signals=False)
    assert int(control.stdout.split()[1], 16) != 0


def gone_reader(hemra, *words, ignore=False):
    """Runs hemra with a standard output that nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    try:
        p = hemra.start(*words, stdout=write, restore_signals=not ignore, preexec_fn=lambda: signal.signal(
            signal.SIGPIPE, signal.SIG_IGN if ignore else signal.SIG_DFL))
    finally:
        os.close(write)
    _, err = p.communicate(timeout=60)
    return p.returncode, err.decode()


@pytest.mark.parametrize("ignore", [False, True], ids=["default", "ignored"])
def test_a_reader_that_stops_reading_is_no_error(hemra, ignore):
    row, _ = hemra.attempt("play.py", "ok")
    attempt = row["attempt"]
    for words in (["verify"], ["verify", "--json"], ["runs"], ["show", attempt], ["show", "--json", attempt],
                  ["show", "--events", attempt], ["show", "--events", "--json", attempt], ["doctor"],
                  ["help"]):
        status, err = gone_reader(hemra, *words, ignore=ignore)
        assert (status, err) == (-signal.SIGPIPE, ""), f"{words}: {status} {err}"


def test_a_directory_that_is_gone_is_named(hemra):
    def leave():
        os.mkdir(hemra.tmp + "/gone")
        os.chdir(hemra.tmp + "/gone")
        os.rmdir(hemra.tmp + "/gone")
    for words, status in ((["exec", "--", "true"], 125), (["runs"], 2), (["run", "run.toml"], 2)):
        done = hemra.run(*words, preexec_fn=leave)
        assert done.status == status and "find the current directory" in done.err, repr(done)
    assert hemra.run("version", preexec_fn=leave).status == 0


@pytest.mark.parametrize("words", VERBS, ids=[w[0] for w in VERBS])
def test_unknown_variables_are_refused_by_every_verb(hemra, words):
    bogus = hemra.run(*words, "--json", env={"HEMRA_BOGUS": "1"})
    assert bogus.status == 2 and "HEMRA_BOGUS" in bogus.json["error"]["message"], repr(bogus)
    hearth = hemra.run(*words, env={"HEARTH_TRIPWIRE": ""})
    assert hearth.status == 2 and "HEARTH_TRIPWIRE" in hearth.err, repr(hearth)
    assert not os.path.exists(hemra.store)


def test_help_and_version_are_not_kept_by_a_variable(hemra):
    for words in (["help"], ["version"], ["runs", "--help"]):
        assert hemra.run(*words, env={"HEMRA_BOGUS": "1"}).status == 0


def test_a_store_that_cannot_be_used_is_3_and_a_bad_file_2(as_user):
    hemra = as_user
    hemra.harness("agent", "play.py", "ok")
    hemra.task()
    run = hemra.run_file(["agent"], ["tasks/one"])
    os.chmod(hemra.dir, 0o555)
    closed = hemra.run("run", run, "--json")
    assert closed.status == 3, repr(closed)
    assert closed.json["error"]["kind"] == "access" and "Permission denied" in closed.err
    os.chmod(hemra.dir, 0o755)
    assert hemra.run("run", run).status == 0
    house.write(hemra.store + "/index.sqlite", "this is no database, but it is long enough\n" * 40)
    for words in (["run", run], ["runs"], ["show", "abcd"]):
        refused = hemra.run(*words)
        assert refused.status == 3 and "index.sqlite" in refused.err, repr(refused)
    os.chmod(run, 0)
    unreadable = hemra.run("run", run)
    assert unreadable.status == 2 and "Permission denied" in unreadable.err, repr(unreadable)


def test_of_several_files_a_failure_stands_beside_the_reports(hemra):
    hemra.harness("agent", "play.py", "ok")
    hemra.task()
    good = hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "--json", good, "nowhere.toml", good)
    assert done.status == 2 and len(done.json["runs"]) == 1, repr(done)
    assert done.json["error"]["kind"] == "not_found" and "nowhere.toml" in done.json["error"]["message"]
    assert done.json["runs"][0]["attempts"][0]["outcome"] == "completed"
    whole = hemra.run("run", "--json", good, good)
    assert whole.status == 0 and len(whole.json["runs"]) == 2 and "error" not in whole.json, repr(whole)


def test_events_that_end_badly_are_one_object_all_the_same(hemra):
    row, _ = hemra.attempt("play.py", "ok")
    path = f"{hemra.store}/events/{row['attempt']}.jsonl"
    count = len(hemra.events(row["attempt"]))
    whole = hemra.run("show", "--events", "--json", row["attempt"])
    assert whole.status == 0 and len(whole.json["events"]) == count and "error" not in whole.json
    with open(path, "ab") as file:
        file.write(b"x" * (4 << 20))  # longer than any line may be
    done = hemra.run("show", "--events", "--json", row["attempt"])
    assert done.status == 3 and "longer than any event" in done.err, repr(done)
    assert len(done.json["events"]) == count and done.json["error"]["message"] in done.err


def test_a_notice_is_said_once_for_each_task_and_not_with_quiet(hemra):
    hemra.harness("agent", "play.py", "ok")
    hemra.task("one", extra="colour = \"blue\"\n")
    hemra.task("two", extra="colour = \"red\"\n")
    hemra.run_file(["agent"], ["tasks/one", "tasks/two"], "attempts = 2\n")
    done = hemra.run("run", "run.toml", "--json")
    notices = [line for line in done.err.splitlines() if line.startswith("hemra: notice: ")]
    assert len(notices) == 2 and "tasks/one" in notices[0] and "tasks/two" in notices[1], repr(done)
    assert json.loads(done.out)["count"] == 4
    assert hemra.run("run", "run.toml", "--quiet").err == ""
