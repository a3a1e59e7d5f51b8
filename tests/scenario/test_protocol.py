# SPDX-License-Identifier: Apache-2.0
"""hemra/1 end to end: every boundary, and every way in which a harness can fail to end."""

import time

import pytest

import house

MIB = 1 << 20

# agent's words → outcome
ENDS = [
    (["ok"], "completed"),
    (["status", "refused"], "refused"),
    (["status", "error"], "agent_error"),
    (["status", "limit"], "agent_error"),
    (["status", "cancelled"], "agent_error"),
    (["line_of", str(MIB - 1)], "completed"),
    (["line_of", str(MIB)], "completed"),
    (["line_of", str(MIB + 1)], "limit:line"),
    (["depth", "63"], "completed"),
    (["depth", "64"], "completed"),
    (["depth", "65"], "protocol_error"),
    (["bytewise"], "completed"),
    (["at_once"], "completed"),
    (["raw", r'{"type":"event","seq":1,"kind":"message","text":"x"}\r\n'], "completed"),
    (["raw", r'{"type":"event","seq":1,"kind":"message","text":"a\0b"}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1,"kind":"message","text":"\xff\xfe"}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1,"kind":"message","text":"\\ud800"}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1,"seq":1,"kind":"message"}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1,"kind":"message","a":{"b":1,"b":2}}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1e400,"kind":"message"}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":2,"kind":"message"}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":9007199254740993,"kind":"x"}\n'], "protocol_error"),
    (["raw", r'[1,2]\n'], "protocol_error"),
    (["raw", r'\n'], "protocol_error"),
    (["raw", r'hello there\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1,"kind":"message"} x\n'], "protocol_error"),
    (["raw", r'\xef\xbb\xbf{"type":"event","seq":1,"kind":"message"}\n'], "protocol_error"),
    (["raw", r'{"type":"event","seq":1,"kind":"never heard of"}\n'], "completed"),
    (["raw", r'{"type":"event","seq":1,"kind":"log","other":1e400}\n'], "completed"),
    (["raw", r'{"type":"event","seq":1,"kind":"usage","input":-1}\n'], "protocol_error"),
    (["raw", r'{"type":"ready","protocol":"hemra/1"}\n'], "protocol_error"),
    (["raw", r'{"type":"artifact"}\n'], "protocol_error"),
    (["raw", r'{"type":"artifact","path":""}\n'], "protocol_error"),
    (["raw", r'{"type":"never heard of"}\n'], "completed"),
    (["raw_only", r'{"type":"result","status":"completed"}'], "crashed"),
    (["raw_only", r'{"type":"result","status":"perfect"}\n'], "protocol_error"),
    (["after_result"], "protocol_error"),
    (["two_results"], "protocol_error"),
    (["mid_line"], "crashed"),
    (["leave", "0"], "crashed"),
    (["leave", "3"], "crashed"),
    (["killed"], "crashed"),
    (["no_ready"], "handshake_failed"),
    (["never_reads"], "protocol_error"),
    (["closes_input"], "completed"),
    (["lingers"], "completed"),
    (["daemon"], "completed"),
]


@pytest.mark.parametrize("words,outcome", ENDS, ids=["-".join(w)[:60] for w, _ in ENDS])
def test_end(hemra, words, outcome):
    row, done = hemra.attempt("play.py", *words)
    assert row["outcome"] == outcome, repr(done)
    if outcome == "limit:line":
        assert hemra.of_type(row["attempt"], "limit")[0]["which"] == "line"
    if outcome == "protocol_error":
        broke = hemra.of_type(row["attempt"], "protocol.error")
        assert len(broke) == 1 and broke[0]["what"] and broke[0]["offset"] > 0
    if words[0] == "lingers":
        assert hemra.of_type(row["attempt"], "harness.exit")[0]["lingered"] is True
    if words[0] == "daemon":
        assert hemra.of_type(row["attempt"], "harness.exit")[0]["survivors"] >= 1
    assert hemra.run("verify").status == 0


def test_no_harness_word_is_lost_or_changed(hemra):
    row, _ = hemra.attempt("play.py", "at_once")
    said = hemra.of_type(row["attempt"], "harness.message")
    assert [d["text"] for d in said] == [str(n) for n in range(1, 501)]


@pytest.mark.parametrize("size,outcome", [(64 * MIB, "completed"), (64 * MIB + 1, "limit:events")])
def test_events_limit(hemra, size, outcome):
    row, done = hemra.attempt("play.py", "total_of", str(size))
    assert row["outcome"] == outcome, repr(done)


def test_flood_ends_at_the_limit(hemra):
    row, done = hemra.attempt("play.py", "flood")
    assert row["outcome"] == "limit:events", repr(done)


@pytest.mark.parametrize("part", ["ignores", "stops"])
def test_who_does_not_obey_is_killed_in_time(hemra, part):
    began = time.monotonic()
    row, done = hemra.attempt("play.py", part, more="deadline = \"1s\"\n")
    assert row["outcome"] == "agent_timeout", repr(done)
    took = time.monotonic() - began
    print(f"took {took:.1f} s")
    assert took < 60
    if part == "ignores":
        exited = hemra.of_type(row["attempt"], "harness.exit")[0]
        assert exited["signal"] in (9, "SIGKILL")


@pytest.mark.parametrize("limit,takes,outcome", [("20s", "1.5", "completed"),
                                                 ("1s", "600", "handshake_failed")])
def test_handshake(hemra, limit, takes, outcome):
    row, done = hemra.attempt("play.py", "late", takes,
                              more=house.SHORT.replace("20s", limit))
    assert row["outcome"] == outcome, repr(done)
    said = hemra.of_type(row["attempt"], "harness.hello")[0]["limits"]["handshake_ms"]
    assert said == int(limit[:-1]) * 1000
    if outcome == "handshake_failed":
        assert hemra.of_type(row["attempt"], "limit")[0]["which"] == "handshake_ms"


def test_limits_of_the_run_file_hold_and_are_told(hemra):
    more = ("[limits]\nline = \"4K\"\nevents = \"16K\"\nartifact_files = 1\nartifact_bytes = \"100\"\n"
            "stderr = \"2K\"\ncancel_grace = \"500ms\"\nterm_grace = \"500ms\"\n")
    for words, outcome in ((("line_of", "4096"), "completed"), (("line_of", "4097"), "limit:line"),
                           (("total_of", "16384"), "completed"), (("total_of", "16385"), "limit:events")):
        row, done = hemra.attempt("play.py", *words, more=more)
        assert row["outcome"] == outcome, f"{words}: {done!r}"
        limits = hemra.of_type(row["attempt"], "harness.hello")[0]["limits"]
        assert (limits["line_bytes"], limits["events_bytes"]) == (4096, 16384)
    row, done = hemra.attempt(
        "play.py", "python",
        "sys.stderr.write('x' * 5000); sys.stderr.flush()\n"
        "for n in (99, 100, 101):\n"
        "    open(start['paths']['artifacts'] + f'/{n}', 'w').write('a' * n)\n"
        "result()", more=more)
    assert row["outcome"] == "completed", repr(done)
    taken = [d for d in hemra.of_type(row["attempt"], "artifact")
             if not d.get("refused") and d["role"] != "workspace-diff"]
    assert len(taken) == 1 and taken[0]["bytes"] <= 100
    errors = "".join(d["text"] for d in hemra.of_type(row["attempt"], "harness.stderr"))
    assert errors == "x" * 2048


def test_run_start_carries_task_and_paths_and_no_secret(hemra):
    row, _ = hemra.attempt("play.py", "ok", env={"TOKEN": "value-that-must-not-travel"},
                           more="[secrets]\nTOKEN = \"env:TOKEN\"\n")
    start = hemra.of_type(row["attempt"], "harness.start")[0]
    assert start["task"]["instruction"] == "Do one.\n" or start["task"]["instruction"] == "Do one."
    assert start["paths"]["workspace"] == "/workspace"
    assert "value-that-must-not-travel" not in str(start)


def test_unknown_type_is_answered(hemra):
    row, _ = hemra.attempt(
        "play.py", "python",
        "line(type='what'); got = hear('error'); event(1, text=got['code']); result()")
    assert hemra.of_type(row["attempt"], "harness.message")[0]["text"] == "unknown_type"


def test_ping_is_answered_by_pong_and_pongs_are_taken(hemra):
    row, done = hemra.attempt("play.py", "python", "line(type='pong'); event(1, text='x'); result()")
    assert row["outcome"] == "completed", repr(done)


def test_permission_is_denied_and_the_decision_recorded_before_the_answer(hemra):
    row, done = hemra.attempt(
        "play.py", "python",
        "line(type='permission.request', id='p1', tool='rm', options=['allow', 'deny'])\n"
        "got = hear('permission.reply'); event(1, text=got['id'] + got['option']); result()")
    assert row["outcome"] == "completed", repr(done)
    kinds = [line["type"] for line in hemra.events(row["attempt"])]
    assert hemra.of_type(row["attempt"], "harness.message")[0]["text"] == "p1deny"
    assert kinds.index("decision") < kinds.index("harness.message")


def test_cancel_is_told_to_the_harness(hemra):
    row, done = hemra.attempt("play.py", "wait", more="deadline = \"1s\"\n")
    assert row["outcome"] == "agent_timeout", repr(done)
    assert hemra.of_type(row["attempt"], "harness.cancel")[0]["reason"] == "deadline"
    assert hemra.of_type(row["attempt"], "harness.result")[0]["status"] == "cancelled"
