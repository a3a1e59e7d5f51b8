# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of hemra's own processes at random times within an attempt's life.

Each round starts a run, waits a random part of the span that such a run was measured to take, kills
one process and then looks: nothing is left running, mounted or listed as a control group; the next
start settles what was left; every event that had been seen before the kill is still there; the store
verifies. The distribution over the states in which the kills fell is printed.

HEMRA_KILLS says how many rounds there are for each kind of process.
"""

import collections
import json
import os
import random
import shutil
import signal
import sqlite3
import time

import pytest

import chain
import house

ROUNDS = int(os.environ.get("HEMRA_KILLS", "25"))

# Which process was killed → what may become of an attempt; a kill that comes after its work is done
# changes nothing. The first of each is what a kill in the middle makes.
RIGHT = {
    "engine": ("lost", "completed"),
    "nursery": ("completed", "lost", "infra:setup"),
    "steward": ("lost", "completed"),
    "warden": ("lost", "completed"),
    "init": ("infra:environment", "completed", "infra:setup", "verifier_error"),
}


# Each process is a child of the one before; a fresh child bears its parent's name until it has its own.
PARENT = {"nursery": "hemra", "steward": "hemra-nursery", "warden": "hemra-steward", "init": "hemra-steward"}


def is_first(pid):
    """Is it pid 1 of its box? (The command is a child of it that bears the same name until its exec.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return any(line.split()[-1] == "1" for line in file if line.startswith("NSpid:"))
    except (OSError, IndexError):
        return False


def victims(engine):
    """The processes of one run by kind: {"engine": [pid], "nursery": …, "steward": …, …}.

    hemra names its processes (comm): hemra, hemra-nursery, hemra-steward, hemra-warden, hemra-init.
    """
    found = {"engine": [engine]}

    def look(pid, name):
        for child, child_name, _ in house.own_children(pid):
            kind = child_name.removeprefix("hemra-")
            if PARENT.get(kind) == name and (kind != "init" or is_first(child)):
                found.setdefault(kind, []).append(child)
            look(child, child_name)

    look(engine, "hemra")
    return found


def seen_lines(hemra):
    """Whole lines of every events file now: these have been acknowledged."""
    lines = {}
    for attempt in hemra.attempts():
        with open(f"{hemra.store}/events/{attempt}.jsonl", "rb") as file:
            lines[attempt] = file.read().split(b"\n")[:-1]
    return lines


def state_now(lines):
    names = [b'"state":"']
    for line in reversed(lines):
        if b'"type":"attempt.state"' in line:
            return line.split(names[0])[1].split(b'"')[0].decode()
        if b'"type":"attempt.settled"' in line:
            return "done"
    return "planned"


def prepare(hemra):
    hemra.harness("agent", "play.py", "shell", "sleep 0.1; echo x >made.txt; sleep 0.1")
    hemra.task(test="sleep 0.05; echo 1 >/logs/verifier/reward.txt\n")
    hemra.run_file(["agent"], ["tasks/one"], "attempts = 2\nconcurrency = 2\nkeep = \"none\"\n")
    began = time.monotonic()
    done = hemra.run("run", "run.toml", "--json")
    assert done.status == 0, repr(done)
    return time.monotonic() - began


def check_after(hemra, before, right=None):
    """The promises, once the run's processes have had their time to end."""
    assert house.wait_for(lambda: not house.living(), 30), f"still running: {house.living()}"
    house.reap()
    reaped = hemra.run("doctor", "--reap", "--json")
    assert reaped.status == 0, repr(reaped)
    after = seen_lines(hemra)
    for attempt, lines in before.items():
        kept = after.get(attempt)
        assert kept is not None, f"{attempt} is gone"
        assert kept[:len(lines)] == lines, f"{attempt}: events that had been written changed"
    for attempt in after:
        last = hemra.events(attempt)[-1]
        assert last["type"] == "attempt.settled", f"{attempt} is not settled: {last}"
        if right and attempt in before:
            assert last["data"]["outcome"] in right, last
        manifest = hemra.of_type(attempt, "attempt.planned")[0]["manifest"]
        chain.check(after[attempt], attempt, manifest)
    good = hemra.run("verify", "--json")
    assert good.status == 0, repr(good)
    groups = [path for path in house.cgroups() if any(attempt in path for attempt in after)]
    assert not groups, f"control groups left: {groups}"
    for name in ("live", "work"):
        assert not os.listdir(f"{hemra.store}/{name}"), f"left in {name}/"


@pytest.mark.parametrize("kind", ["engine", "nursery", "steward", "warden", "init"])
def test_kill(hemra, kind):
    """Trust page: record.order"""
    span = prepare(hemra)
    rolls = random.Random(os.environ.get("HEMRA_SEED", kind))
    states, outcomes, missed = collections.Counter(), collections.Counter(), 0
    for number in range(ROUNDS):
        known = set(hemra.attempts())
        running = hemra.start("run", "run.toml", "--json")
        until = time.monotonic() + rolls.uniform(0, span)
        pids = []
        while time.monotonic() < until or not pids:
            pids = victims(running.pid).get(kind, [])
            if running.poll() is not None:
                break
        if not pids or running.poll() is not None:
            missed += 1
            hemra.finish(running)
            continue
        before = {a: lines for a, lines in seen_lines(hemra).items() if a not in known}
        states.update(state_now(lines) for lines in before.values())
        victim = rolls.choice(pids)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            missed += 1
        try:
            hemra.finish(running, seconds=120)
            check_after(hemra, before, RIGHT[kind])
        except AssertionError as error:
            raise AssertionError(f"round {number}, {kind} {victim}: {error}") from error
        for attempt in set(hemra.attempts()) - known:
            outcomes[hemra.events(attempt)[-1]["data"]["outcome"]] += 1
    print(f"{kind}: span {span:.2f} s, {ROUNDS} rounds, {missed} too late; states at the kill "
          f"{dict(states)}; outcomes {dict(outcomes)}")
    assert missed < ROUNDS, "no kill met its process"
    assert outcomes[RIGHT[kind][0]] > 0 or ROUNDS < 10, "no kill came in the middle"


def test_a_dead_warden_ends_the_attempt_lost_with_its_events(hemra):
    hemra.harness("agent", "play.py", "wait")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], "keep = \"none\"\n")
    running = hemra.start("run", "run.toml", "--json")
    attempt = house.wait_for(hemra.attempts)[0]
    assert house.wait_for(lambda: hemra.of_type(attempt, "harness.message"))
    before = seen_lines(hemra)
    os.kill(victims(running.pid)["warden"][0], signal.SIGKILL)
    done = hemra.finish(running, seconds=60)
    assert done.json["attempts"][0]["outcome"] == "lost", repr(done)
    check_after(hemra, before)


def test_a_dead_engine_stops_its_attempts_and_the_next_start_sweeps(hemra):
    hemra.harness("agent", "play.py", "wait")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], "keep = \"none\"\n")
    running = hemra.start("run", "run.toml", "--json")
    attempt = house.wait_for(hemra.attempts)[0]
    assert house.wait_for(lambda: hemra.of_type(attempt, "harness.message"))
    before = seen_lines(hemra)
    running.kill()
    running.wait()
    check_after(hemra, before)


def test_a_torn_tail_is_kept_and_stated(hemra):
    """A steward that dies while it writes leaves half a line; the next start keeps it beside."""
    hemra.harness("agent", "play.py", "wait")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], "keep = \"none\"\n")
    running = hemra.start("run", "run.toml", "--json")
    attempt = house.wait_for(hemra.attempts)[0]
    assert house.wait_for(lambda: hemra.of_type(attempt, "harness.message"))
    for kind in ("engine", "steward"):
        for pid in victims(running.pid).get(kind, []):
            os.kill(pid, signal.SIGSTOP)
    everyone = victims(running.pid)
    for pid in [p for pids in everyone.values() for p in pids]:
        os.kill(pid, signal.SIGKILL)
    running.wait()
    assert house.wait_for(lambda: not house.living(), 30)
    path = f"{hemra.store}/events/{attempt}.jsonl"
    with open(path, "ab") as file:
        file.write(b'{"seq":99,"ts":"20')
    before = seen_lines(hemra)
    assert hemra.run("doctor", "--reap").status == 0
    check_after(hemra, before)
    assert any(".torn" in name for name in os.listdir(hemra.store + "/events"))


# ---- an engine that dies between two writes --------------------------------------------------------


def rows_gone(hemra, attempt, tables):
    """What a dead engine did not write is taken out. The triggers that forbid it are back after: hemra refuses
    an index that lacks one."""
    base = sqlite3.connect(hemra.store + "/index.sqlite")
    triggers = base.execute("select name, sql from sqlite_master where type = 'trigger'").fetchall()
    for name, _ in triggers:
        base.execute(f"drop trigger {name}")
    for table in ["unsettled"] + tables:
        base.execute(f"delete from {table}" + (f" where attempt = '{attempt}'" if table != "runs" else ""))
    if "attempts" not in tables:
        base.execute("insert into unsettled values (?)", (attempt,))
    for _, sql in triggers:
        base.execute(sql)
    base.commit()
    base.close()


OUTCOME = ["scores", "outcomes"]
ALL = OUTCOME + ["artifacts", "attempt_transitions", "attempts"]


@pytest.mark.parametrize("rows,settled", [
    (OUTCOME, True),            # killed between the seal and the row
    (OUTCOME + ["artifacts"], True),
    (ALL, True),                # … with rows that never came
    (ALL + ["runs"], True),
    (ALL, False),               # killed between the first event and its row
    (ALL + ["runs"], False),
], ids=lambda v: "-".join(v) if isinstance(v, list) else "settled" if v else "planned")
def test_what_a_dead_engine_did_not_write_is_derived_from_the_events(hemra, rows, settled):
    hemra.attempt("play.py", "ok")
    notes, before = hemra.state + "/hemra/keys/notes", hemra.dir + "/before"
    shutil.copytree(notes, before)
    shutil.copy(hemra.store + "/seals.jsonl", before)
    row, done = hemra.attempt("play.py", "artifacts")
    second, run = row["attempt"], done.json["run"]
    if not settled:  # nothing but the first line, and no seal of it
        with open(f"{hemra.store}/events/{second}.jsonl", "rb+") as file:
            file.truncate(len(file.readline()))
        shutil.move(before + "/seals.jsonl", hemra.store + "/seals.jsonl")
        shutil.copytree(before, notes, dirs_exist_ok=True)
        hemra.own(hemra.state)
    rows_gone(hemra, second, rows)
    hemra.owned(house.write(f"{hemra.store}/live/{run}.run", ""))
    hemra.own(hemra.store)
    before = {f["kind"] for f in hemra.run("verify", "--json").json["findings"]}
    assert before - {"blob.stray"}, "the control: something is missing"
    assert hemra.run("doctor", "--reap").status == 0
    good = hemra.run("verify", "--json")
    assert good.status == 0, repr(good)
    assert {f["kind"] for f in good.json["findings"]} <= {"blob.stray"}, repr(good)  # gc's to remove
    listed = hemra.run("show", second, "--json").json
    assert settled == (json.dumps(listed).count("completed") > 0), repr(listed)


def test_a_file_without_one_event_is_swept(hemra):
    _, done = hemra.attempt("play.py", "ok")
    stray = f"{hemra.store}/events/{done.json['run'][:-1]}z.jsonl"
    house.write(stray, "")
    house.write(f"{hemra.store}/live/{done.json['run']}.run", "")
    hemra.own(hemra.store)
    assert hemra.run("doctor", "--reap").status == 0
    assert not os.path.exists(stray)
    assert hemra.run("verify").status == 0
