# SPDX-License-Identifier: Apache-2.0
"""The main job: run, look, stop, hand on, check, remove."""

import json
import os

import house


def test_one_attempt_from_end_to_end(hemra):
    row, done = hemra.attempt("play.py", "ok",
                              test="grep -qx made /workspace/made.txt && echo 1 >/logs/verifier/reward.txt\n")
    assert done.status == 0, repr(done)
    assert (row["outcome"], row["graded"], row["score"]) == ("completed", True, 1)
    assert row["usage"]["input"] == 10 and row["usage"]["cost_usd"] == 0.25
    lines = hemra.events(row["attempt"])
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "attempt.planned" and kinds[-1] == "attempt.settled"
    order = ["probe.result", "harness.hello", "harness.ready", "harness.start", "harness.message",
             "harness.usage", "harness.result", "harness.exit", "workspace", "verifier.start",
             "verifier.exit", "score"]
    assert [k for k in kinds if k in order and kinds.count(k) == 1] == order
    states = [d["state"] for d in hemra.of_type(row["attempt"], "attempt.state")]
    assert states == ["preparing", "arming", "running", "collecting", "verifying"]
    assert hemra.run("verify").status == 0


def test_a_right_and_a_wrong_answer_get_different_scores(hemra):
    hemra.harness("good", "play.py", "ok")
    hemra.task("one", test="test -e /workspace/made.txt && echo 1 >/logs/verifier/reward.txt"
                           " || echo 0 >/logs/verifier/reward.txt\n", solution="touch made.txt\n")
    hemra.run_file(["good", "nop", "oracle"], ["tasks/one"], "attempts = 2\nconcurrency = 2\n")
    done = hemra.run("run", "run.toml", "--json")
    assert done.status == 0, repr(done)
    scores = {}
    for row in done.json["attempts"]:
        scores.setdefault(row["harness"], []).append(row["score"])
    assert scores == {"good": [1, 1], "nop": [0, 0], "oracle": [1, 1]}


def test_report_on_a_terminal_less_output_names_score_and_next_steps(hemra):
    hemra.harness("good", "play.py", "ok")
    hemra.task()
    hemra.run_file(["good"], ["tasks/one"])
    done = hemra.run("run", "run.toml")
    assert done.status == 0, repr(done)
    assert "1.000" in done.out and "completed" in done.out and "hemra verify" in done.out
    assert "\x1b" not in done.out + done.err


def test_print_config_starts_nothing(hemra):
    hemra.harness("good", "play.py", "ok")
    hemra.task()
    hemra.run_file(["good"], ["tasks/one"], "attempts = 3\n[sandbox]\npids = 100\n")
    done = hemra.run("run", "run.toml", "--print-config")
    assert done.status == 0, repr(done)
    json.loads(done.out)
    assert not os.path.exists(hemra.store)


def test_runs_and_show(hemra):
    row, done = hemra.attempt("play.py", "ok")
    run, attempt = done.json["run"], row["attempt"]
    assert run[:6] in hemra.run("runs").out
    assert hemra.run("runs", "--json").json
    assert hemra.run("show", run).status == 0
    shown = hemra.run("show", attempt)
    assert shown.status == 0 and "completed" in shown.out
    assert "made.txt" in hemra.run("show", attempt, "--diff").out
    listed = hemra.run("show", attempt, "--events")
    assert listed.status == 0 and "harness.ready" in listed.out
    assert len(listed.out.splitlines()) >= len(hemra.events(attempt))
    assert hemra.run("show", attempt[:3]).status == 2
    assert hemra.run("show", "zzzzzz").status == 2


def test_show_makes_control_characters_visible(hemra):
    row, _ = hemra.attempt("play.py", "python",
                           "event(1, text='\\x1b]0;owned\\x07 \\u202e \\x1b[2J'); result()")
    for words in (["show", row["attempt"]], ["show", row["attempt"], "--events"]):
        done = hemra.run(*words)
        assert done.status == 0
        assert "\x1b" not in done.out and "\x07" not in done.out and "\u202e" not in done.out


def test_follow_sees_events_while_the_attempt_runs_and_ends_with_it(hemra):
    hemra.harness("agent", "play.py", "wait")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"])
    running = hemra.start("run", "run.toml", "--json")
    attempt = house.wait_for(hemra.attempts)[0]
    # the first event is written before its row: the id may be seen before it can be asked for
    assert house.wait_for(lambda: hemra.run("show", attempt).status == 0)
    follow = hemra.start("show", attempt, "--follow")
    seen = b""
    while b"waiting" not in seen:
        piece = os.read(follow.stdout.fileno(), 65536)
        assert piece, "show --follow ended before the attempt"
        seen += piece
    assert running.poll() is None
    assert hemra.run("cancel", attempt).status == 0
    rest = hemra.finish(follow, seconds=60)
    assert rest.status == 0 and "attempt.settled" in (seen.decode() + rest.out)
    done = hemra.finish(running, seconds=60)
    assert done.json["attempts"][0]["outcome"] == "cancelled", repr(done)
    assert len(hemra.of_type(attempt, "cancel")) == 1
    assert hemra.of_type(attempt, "cancel")[0]["by_uid"] == hemra.uid


def test_cancel_of_what_does_not_run_says_so(hemra):
    row, _ = hemra.attempt("play.py", "ok")
    done = hemra.run("cancel", row["attempt"])
    assert done.status == 2 and done.err.strip()


def test_interrupt_stops_all_attempts_in_order(hemra):
    hemra.harness("agent", "play.py", "wait")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], "attempts = 3\nconcurrency = 2\n")
    running = hemra.start("run", "run.toml", "--json")

    def both_wait():
        return sum(any(line["type"] == "harness.message" for line in hemra.events(a))
                   for a in hemra.attempts()) == 2

    assert house.wait_for(both_wait)
    running.send_signal(2)
    done = hemra.finish(running, seconds=60)
    assert done.status == 130, repr(done)
    assert hemra.run("verify").status == 0
    outcomes = [row["outcome"] for row in done.json["attempts"]]
    assert outcomes.count("cancelled") >= 2


def test_deadline_ends_an_attempt_and_it_is_still_graded(hemra):
    row, done = hemra.attempt("play.py", "ignores", more="deadline = \"1s\"\n",
                              test="echo 0.5 >/logs/verifier/reward.txt\n")
    assert row["outcome"] == "agent_timeout", repr(done)
    assert row["score"] == 0.5


def test_export_verifies_without_the_store(hemra):
    row, done = hemra.attempt("play.py", "artifacts")
    out = hemra.cwd + "/out"
    assert hemra.run("export", row["attempt"], out).status == 0
    names = {os.path.relpath(os.path.join(d, n), out) for d, _, ns in os.walk(out) for n in ns}
    assert {"events.jsonl"} <= {os.path.basename(n) for n in names}
    os.rename(hemra.store, hemra.store + ".away")
    good = hemra.run("verify", out)
    assert good.status == 0, repr(good)
    path = next(os.path.join(out, n) for n in names if n.endswith("events.jsonl"))
    with open(path, "r+b") as file:
        text = file.read().replace(b"harness.ready", b"harness.teady")
        file.seek(0)
        file.write(text)
    assert hemra.run("verify", out).status == 1
    assert hemra.run("export", row["attempt"], out).status == 2
    os.rename(hemra.store + ".away", hemra.store)
    assert hemra.run("export", done.json["run"], hemra.cwd + "/all").status == 0
    assert hemra.run("verify", hemra.cwd + "/all").status == 0


def test_rm_leaves_a_tombstone_and_the_store_verifies(hemra):
    """Trust page: record.removal"""
    first, _ = hemra.attempt("play.py", "artifacts")
    second, _ = hemra.attempt("play.py", "ok")
    done = hemra.run("rm", first["attempt"], "--why", "wrong version of the task")
    assert done.status == 0, repr(done)
    assert hemra.attempts() == [second["attempt"]]
    with open(hemra.store + "/seals.jsonl", encoding="utf-8") as file:
        assert "wrong version of the task" in file.read()
    assert hemra.run("verify").status == 0
    blobs = {os.path.basename(d) + n for d, _, ns in os.walk(hemra.store + "/blobs/sha256") for n in ns}
    named = {data["sha256"] for data in hemra.of_type(second["attempt"], "artifact")}
    assert blobs == named, "blobs that nothing names any more are still there"


def test_rm_refuses_a_running_attempt(hemra):
    hemra.harness("agent", "play.py", "wait")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"])
    running = hemra.start("run", "run.toml", "--json")
    attempt = house.wait_for(hemra.attempts)[0]
    assert hemra.run("rm", attempt).status == 2
    assert hemra.run("cancel", attempt).status == 0 or house.wait_for(
        lambda: hemra.run("cancel", attempt).status == 0, 10)
    hemra.finish(running, seconds=60)
    assert hemra.run("rm", attempt).status == 0


def test_gc_removes_only_what_no_record_names(hemra):
    row, _ = hemra.attempt("play.py", "artifacts")
    stray = hemra.store + "/blobs/sha256/aa/" + "a" * 62
    house.write(stray, "stray")
    hemra.own(hemra.store)
    dry = hemra.run("gc", "--dry-run")
    assert dry.status == 0 and os.path.exists(stray)
    assert hemra.run("gc").status == 0
    assert not os.path.exists(stray)
    assert hemra.run("verify").status == 0
    assert hemra.of_type(row["attempt"], "artifact")


def test_keep_says_which_workspaces_stay(hemra):
    for keep, score, stays in (("failed", 1, False), ("failed", 0, True), ("all", 1, True),
                               ("none", 0, False)):
        row, done = hemra.attempt("play.py", "ok", flags=["--keep", keep],
                                  test=f"echo {score} >/logs/verifier/reward.txt\n")
        work = hemra.store + "/work/" + row["attempt"]
        assert os.path.exists(work) == stays, f"{keep} {score}: {done!r}"


def test_work_dir_lies_where_the_operator_says(hemra):
    os.mkdir(hemra.cwd + "/elsewhere")
    hemra.own(hemra.cwd)
    row, _ = hemra.attempt("play.py", "ok", flags=["--keep", "all", "--work-dir", "elsewhere"])
    assert os.path.exists(f"{hemra.cwd}/elsewhere/{row['attempt']}")
    house.subprocess.run(["chmod", "-R", "u+rwx", hemra.cwd + "/elsewhere"], check=False)


def test_copy_leaves_the_source_alone_and_bind_works_on_it(hemra):
    hemra.attempt("play.py", "ok")
    assert not os.path.exists(hemra.cwd + "/tasks/one/environment/made.txt")
    os.mkdir(hemra.cwd + "/ws")
    hemra.own(hemra.cwd)
    row, done = hemra.attempt("play.py", "ok", flags=["--workspace", "ws", "--workspace-mode", "bind"])
    assert row["outcome"] == "completed", repr(done)
    with open(hemra.cwd + "/ws/made.txt", encoding="ascii") as file:
        assert file.read() == "made\n"
    assert os.stat(hemra.cwd + "/ws/made.txt").st_uid == hemra.uid


def test_artifacts_are_taken_in_by_the_rules(hemra):
    row, _ = hemra.attempt("play.py", "artifacts")
    taken, refused = {}, set()
    for data in hemra.of_type(row["attempt"], "artifact"):
        if data.get("refused"):
            refused.add(data["path"])
        else:
            taken[data["path"]] = data
    assert "deep/er.txt" in taken and "undeclared.bin" in taken
    assert taken["deep/er.txt"]["declared"] is True
    assert taken["undeclared.bin"]["declared"] is False
    for path in ("link", "fifo", "good.txt", "hard", "../../etc/passwd", "/etc/passwd"):
        assert path in refused, f"{path} was not refused"
    sha = taken["deep/er.txt"]["sha256"]
    blob = f"{hemra.store}/blobs/sha256/{sha[:2]}/{sha[2:]}"
    with open(blob, "rb") as file:
        assert file.read() == b"deeper\n"
    assert os.stat(blob).st_mode & 0o777 == 0o444


def test_command_harness(hemra):
    script = "echo out; echo err >&2; printf %s \"$1\" >asked.txt"
    row, done = _command(hemra, ["sh", "-c", script, "sh", "{instruction}"])
    assert row["outcome"] == "completed", repr(done)
    assert row["score"] == 1
    out = "".join(d.get("text", "") for d in hemra.of_type(row["attempt"], "harness.stdout"))
    err = "".join(d.get("text", "") for d in hemra.of_type(row["attempt"], "harness.stderr"))
    assert out == "out\n" and err == "err\n"


def _command(hemra, words, extra=""):
    house.write(f"{hemra.cwd}/harnesses/cmd.toml",
                f"name = \"cmd\"\nkind = \"command\"\ncommand = {house.toml(words)}\n{extra}")
    hemra.task(test="grep -q 'Do one' /workspace/asked.txt && echo 1 >/logs/verifier/reward.txt\n")
    hemra.run_file(["cmd"], ["tasks/one"])
    done = hemra.run("run", "run.toml", "--json")
    assert done.out, repr(done)
    return done.json["attempts"][0], done


def test_command_harness_that_fails_is_an_agent_error(hemra):
    row, _ = _command(hemra, ["sh", "-c", "exit 3", "sh", "{instruction}"])
    assert row["outcome"] == "agent_error"


def test_command_harness_gets_the_instruction_on_standard_input(hemra):
    row, done = _command(hemra, ["sh", "-c", "cat >asked.txt"], "instruction = \"stdin\"\n")
    assert row["score"] == 1, repr(done)


def test_harness_check_leaves_nothing(hemra):
    hemra.harness("good", "play.py", "check")
    done = hemra.run("harness", "check", "harnesses/good.toml")
    assert done.status == 0, repr(done)
    assert not os.listdir(hemra.tmp)
    assert not os.path.exists(hemra.store)
    kept = hemra.run("harness", "check", "harnesses/good.toml", "--store", hemra.store)
    assert kept.status == 0 and hemra.attempts()
    bad = hemra.run("harness", "check", hemra.harness("bad", "play.py", "no_ready"))
    assert bad.status != 0


def test_doctor(hemra):
    done = hemra.run("doctor", "--json")
    assert done.status == 0, repr(done)
    assert "native" in done.out
    assert hemra.run("doctor").status == 0


def test_reindex_builds_the_same_index(hemra):
    hemra.attempt("play.py", "artifacts")
    before = hemra.run("runs", "--json").out
    for name in os.listdir(hemra.store):
        if name.startswith("index.sqlite"):
            os.unlink(f"{hemra.store}/{name}")
    assert hemra.run("doctor", "--reindex").status == 0
    assert hemra.run("runs", "--json").out == before
    assert hemra.run("verify").status == 0


def test_same_task_twice_has_the_same_digest(hemra):
    rows = []
    for name in ("a", "b"):
        hemra.harness("good", "play.py", "ok")
        hemra.task(name)
        house.write(f"{hemra.cwd}/tasks/{name}/instruction.md", "Do it.\n")
        hemra.run_file(["good"], [f"tasks/{name}"])
        rows.append(hemra.run("run", "run.toml", "--json").json["attempts"][0]["attempt"])
    digests = set()
    for attempt in rows:
        manifest = hemra.of_type(attempt, "attempt.planned")[0]["manifest"]
        with open(f"{hemra.store}/manifests/{manifest}.json", encoding="utf-8") as file:
            digests.add(json.load(file)["task"]["digest"])
    assert len(digests) == 1


def test_help_speaks_of_every_verb(hemra):
    listed = hemra.run("help").out
    for verb in ("run", "exec", "harness check", "runs", "show", "cancel", "export", "verify", "rm",
                 "gc", "doctor"):
        assert verb in listed
        page = hemra.run("help", *verb.split())
        assert page.status == 0 and "hemra " + verb in page.out
    assert hemra.run("help", "--man").out.startswith(".")
    assert hemra.run("version").status == 0
