# SPDX-License-Identifier: Apache-2.0
"""Secrets: names in the record, values nowhere, not even for an instant in an argument list."""

import base64
import glob
import json
import os
import threading
import urllib.parse

import pytest

import house

VALUE = 'tOk3n/with+odd"chars\\and=more&0123456789'
FILE_VALUE = "fi1e-secret-abcdefghijklmnop"


def forms(value):
    raw = value.encode()
    yield raw
    yield json.dumps(value)[1:-1].encode()
    yield json.dumps(json.dumps(value)[1:-1])[1:-1].encode()
    yield urllib.parse.quote(value, safe="").encode()
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for pad in range(3):
        whole = base64.b64encode(b"x" * pad + raw)
        yield whole[4:-4]


def files_with(paths, value):
    """Every file beneath paths that holds the value in any form; file names count too."""
    found = []
    for path in paths:
        for directory, _, names in os.walk(path):
            for name in names:
                full = os.path.join(directory, name)
                if os.path.islink(full) or not os.path.isfile(full):
                    continue
                with open(full, "rb") as file:
                    data = file.read()
                if any(form in data for form in forms(value)) or value in full:
                    found.append(full)
    return found


class Watch(threading.Thread):
    """Looks at every command line and environment on this machine until it is told to stop."""

    def __init__(self, value):
        super().__init__(daemon=True)
        self.value, self.hits, self.looks, self.over = value.encode(), set(), 0, False

    def run(self):
        while not self.over:
            self.looks += 1
            for path in glob.glob("/proc/[0-9]*/cmdline"):
                try:
                    with open(path, "rb") as file:
                        if self.value in file.read():
                            self.hits.add(path)
                except OSError:
                    continue


@pytest.fixture
def leaky(hemra):
    """An attempt of a harness that says its environment on every way there is."""
    house.write(hemra.dir + "/secret.txt", FILE_VALUE + "\n", 0o600)
    hemra.own()
    hemra.harness("agent", "play.py", "environment", extra="env = [\"TOKEN\", \"FROM_FILE\"]\n")
    hemra.task(test="cat /workspace/env.txt; echo 1 >/logs/verifier/reward.txt\n")
    hemra.run_file(["agent"], ["tasks/one"],
                   "keep = \"none\"\n[secrets]\nTOKEN = \"env:TOKEN\"\n"
                   f"FROM_FILE = \"file:{hemra.dir}/secret.txt\"\n")
    watch = Watch(VALUE)
    watch.start()
    done = hemra.run("run", "run.toml", "--json", env={"TOKEN": VALUE})
    watch.over = True
    watch.join()
    return hemra, done, watch


def test_values_are_nowhere_in_the_record(leaky):
    """Trust page: secrets.names, secrets.argv, secrets.redacted"""
    hemra, done, watch = leaky
    row = done.json["attempts"][0]
    assert row["outcome"] == "completed", repr(done)
    attempt = row["attempt"]
    out = hemra.cwd + "/out"
    assert hemra.run("export", attempt, out).status == 0
    for value in (VALUE, FILE_VALUE):
        found = files_with([hemra.store, out, hemra.state, hemra.tmp], value)
        assert not found, f"in {found}"
        assert value not in done.out + done.err
    for name in ("TOKEN", "FROM_FILE"):
        text = json.dumps(hemra.events(attempt))
        assert f"[redacted:{name}]" in text
    counts = json.dumps(hemra.of_type(attempt, "redacted"))
    assert "TOKEN" in counts and "FROM_FILE" in counts
    assert watch.looks > 3 and not watch.hits, f"in an argument list: {watch.hits}"
    assert hemra.run("verify").status == 0


def test_the_agent_did_get_the_values(leaky):
    """The control: were the variables not in the box, the test above would prove nothing."""
    hemra, done, _ = leaky
    counts = json.dumps(hemra.of_type(done.json["attempts"][0]["attempt"], "redacted"))
    assert any(n > 0 for n in numbers(json.loads(counts)))


def numbers(value):
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


def test_no_redact_is_a_named_choice(hemra):
    row, _ = hemra.attempt("play.py", "environment", extra="env = [\"TOKEN\"]\n",
                           more="[secrets]\nTOKEN = \"env:TOKEN\"\n", flags=["--no-redact"],
                           env={"TOKEN": "plain-secret-value"})
    assert "plain-secret-value" in json.dumps(hemra.events(row["attempt"]))
    manifest = hemra.of_type(row["attempt"], "attempt.planned")[0]["manifest"]
    with open(f"{hemra.store}/manifests/{manifest}.json", encoding="utf-8") as file:
        assert json.load(file)["redact"] is False


@pytest.mark.parametrize("line,env,words", [
    ("TOKEN = \"env:TOKEN\"", {}, ["TOKEN"]),
    ("TOKEN = \"env:TOKEN\"", {"TOKEN": "sh0rt"}, ["TOKEN", "8"]),
    ("TOKEN = \"file:/nowhere/at/all\"", {}, ["/nowhere/at/all"]),
    ("TOKEN = \"credential:token\"", {}, ["credential"]),
    ("TOKEN = \"keyring:token\"", {}, ["keyring", "not built yet"]),
    ("TOKEN = \"command:cat x\"", {}, ["command", "not built yet"]),
    ("TOKEN = \"just-the-value\"", {}, ["TOKEN"]),
])
def test_a_secret_that_cannot_be_had_is_refused_before_anything_starts(hemra, line, env, words):
    hemra.harness("agent", "play.py", "ok", extra="env = [\"TOKEN\"]\n")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], "[secrets]\n" + line + "\n")
    done = hemra.run("run", "run.toml", env=env)
    assert done.status == 2, repr(done)
    for word in words:
        assert word in done.err, repr(done)
    assert "just-the-value" not in done.err and "sh0rt" not in done.err
    assert not hemra.attempts()


def test_a_loose_secret_file_is_refused(hemra):
    house.write(hemra.dir + "/secret.txt", FILE_VALUE, 0o644)
    hemra.own()
    hemra.harness("agent", "play.py", "ok", extra="env = [\"TOKEN\"]\n")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], f"[secrets]\nTOKEN = \"file:{hemra.dir}/secret.txt\"\n")
    done = hemra.run("run", "run.toml")
    assert done.status == 2 and "secret.txt" in done.err, repr(done)


def test_systemd_credential(hemra):
    house.write(hemra.dir + "/credentials/token", "credential-value-1234", 0o600)
    hemra.own()
    row, done = hemra.attempt("play.py", "environment", extra="env = [\"TOKEN\"]\n",
                              more="[secrets]\nTOKEN = \"credential:token\"\n",
                              env={"CREDENTIALS_DIRECTORY": hemra.dir + "/credentials"})
    assert "[redacted:TOKEN]" in json.dumps(hemra.events(row["attempt"])), repr(done)
    assert not files_with([hemra.store + "/events"], "credential-value-1234")


def test_a_variable_in_env_without_a_value_is_refused(hemra):
    hemra.harness("agent", "play.py", "ok", extra="env = [\"NOT_SET_ANYWHERE\"]\n")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "run.toml")
    assert done.status == 2 and "NOT_SET_ANYWHERE" in done.err, repr(done)
