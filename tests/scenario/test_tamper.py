# SPDX-License-Identifier: Apache-2.0
"""Tampering with a store: every kind is found, and each is told apart from the others."""

import base64
import glob
import json
import os
import re
import shutil
import sqlite3

import pytest

import chain
import house


class Store:
    """A store with three attempts and a copy to start again from."""

    def __init__(self, hemra):
        self.hemra, self.path = hemra, hemra.store
        for _ in range(2):
            hemra.attempt("play.py", "artifacts")
        hemra.attempt("play.py", "ok")
        self.ids = hemra.attempts()
        self.copy = hemra.dir + "/pristine"
        shutil.copytree(self.path, self.copy, symlinks=True,
                        ignore=shutil.ignore_patterns("work", "live"))  # no part of the record

    def reset(self):
        house.subprocess.run(["chmod", "-R", "u+rwx", self.path], check=True)
        shutil.rmtree(self.path)
        shutil.copytree(self.copy, self.path, symlinks=True)
        self.hemra.own(self.path)

    def events(self, n=0):
        return f"{self.path}/events/{self.ids[n]}.jsonl"

    def lines(self, n=0):
        with open(self.events(n), "rb") as file:
            return file.read().split(b"\n")[:-1]

    def put(self, lines, n=0):
        with open(self.events(n), "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    def manifest(self, n=0):
        return json.loads(self.lines(n)[0])["data"]["manifest"]

    def seals(self):
        with open(self.path + "/seals.jsonl", "rb") as file:
            return file.read().split(b"\n")[:-1]

    def put_seals(self, lines):
        with open(self.path + "/seals.jsonl", "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    def blob(self):
        return sorted(p for p in glob.glob(self.path + "/blobs/sha256/*/*"))[0]

    def sql(self, *statements):
        base = sqlite3.connect(self.path + "/index.sqlite")
        for (name,) in base.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            base.execute(f"drop trigger {name}")
        for statement in statements:
            base.execute(statement)
        base.commit()
        base.close()


def edit(path, old, new):
    os.chmod(path, 0o644)
    with open(path, "rb") as file:
        data = file.read()
    assert old in data, f"{old} is not in {path}"
    with open(path, "wb") as file:
        file.write(data.replace(old, new, 1))


TAMPER = {}


def tamper(function):
    TAMPER[function.__name__] = function
    return function


@tamper
def line_edited(s):
    edit(s.events(), b'"type":"harness.ready"', b'"type":"harness.teady"')


@tamper
def time_edited(s):
    lines = s.lines()
    lines[3] = re.sub(rb'"ts":"20(\d\d)', b'"ts":"19\\1', lines[3], count=1)
    s.put(lines)


@tamper
def line_removed(s):
    lines = s.lines()
    s.put(lines[:4] + lines[5:])


@tamper
def line_twice(s):
    lines = s.lines()
    s.put(lines[:4] + [lines[3]] + lines[4:])


@tamper
def lines_swapped(s):
    lines = s.lines()
    lines[3], lines[4] = lines[4], lines[3]
    s.put(lines)


@tamper
def end_cut_off(s):
    s.put(s.lines()[:-2])


@tamper
def end_torn(s):
    with open(s.events(), "rb+") as file:
        file.truncate(os.path.getsize(s.events()) - 20)


@tamper
def line_appended(s):
    lines = s.lines()
    bodies = [chain.split(line)[0] for line in lines]
    more = bodies[-2].replace(b'"seq":%d,' % (len(lines) - 1), b'"seq":%d,' % (len(lines) + 1))
    s.put(chain.rechain(bodies + [more], s.ids[0], s.manifest()))


@tamper
def garbage_appended(s):
    with open(s.events(), "ab") as file:
        file.write(b"not a line\n")


@tamper
def chain_redone(s):
    bodies = [chain.split(line)[0] for line in s.lines()]
    assert any(b"working" in b or b"played" in b for b in bodies)
    bodies = [b.replace(b"played", b"plaied").replace(b"working", b"wirking") for b in bodies]
    s.put(chain.rechain(bodies, s.ids[0], s.manifest()))


@tamper
def files_swapped(s):
    a, b = s.lines(0), s.lines(1)
    s.put(b, 0)
    s.put(a, 1)


@tamper
def file_removed(s):
    os.unlink(s.events(1))


@tamper
def file_emptied(s):
    s.put([], 1)


@tamper
def file_renamed(s):
    other = s.ids[1][:-1] + ("0" if s.ids[1][-1] != "0" else "1")
    os.rename(s.events(1), f"{s.path}/events/{other}.jsonl")


@tamper
def attempt_and_seal_removed(s):
    os.unlink(s.events(1))
    s.put_seals([line for line in s.seals() if s.ids[1].encode() not in line])


@tamper
def last_attempt_and_seal_removed(s):
    os.unlink(s.events(2))
    s.put_seals([line for line in s.seals() if s.ids[2].encode() not in line])


@tamper
def seals_removed(s):
    os.unlink(s.path + "/seals.jsonl")


@tamper
def seal_edited(s):
    lines = s.seals()
    lines[0] = re.sub(rb'"count":(\d+)', b'"count":999', lines[0], count=1)
    s.put_seals(lines)


@tamper
def seals_swapped(s):
    lines = s.seals()
    lines[0], lines[1] = lines[1], lines[0]
    s.put_seals(lines)


@tamper
def signature_edited(s):
    lines = s.seals()
    at = re.search(rb'"sig(?:nature)?":"([0-9A-Za-z+/=_-]+)"', lines[-1])
    old = at[1]
    new = (b"1" if old[:1] == b"0" else b"0") + old[1:]
    if not re.fullmatch(rb"[0-9a-f]+", old):
        new = base64.b64encode(bytes(len(base64.b64decode(old + b"==="))))[:len(old)]
    lines[-1] = lines[-1].replace(old, new)
    s.put_seals(lines)


@tamper
def signed_with_another_key(s):
    """Redoes the last attempt and its seal with a key of one's own, by hemra itself."""
    os.unlink(s.events(2))
    s.put_seals(s.seals()[:-1])
    s.hemra.own(s.path)
    s.hemra.attempt("play.py", "ok", env={"XDG_STATE_HOME": s.hemra.dir + "/other-state"})


@tamper
def manifest_edited(s):
    edit(f"{s.path}/manifests/{s.manifest()}.json", b'"deadline_ms":', b'"deadline_ms":1')


@tamper
def manifest_removed(s):
    os.unlink(f"{s.path}/manifests/{s.manifest()}.json")


@tamper
def run_edited(s):
    path = glob.glob(s.path + "/runs/*.json")[0]
    edit(path, b"run.toml", b"ran.toml")


@tamper
def run_removed(s):
    os.unlink(glob.glob(s.path + "/runs/*.json")[0])


@tamper
def blob_edited(s):
    path = s.blob()
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 1]))
    os.chmod(path, 0o444)


@tamper
def blob_cut(s):
    os.chmod(s.blob(), 0o644)
    with open(s.blob(), "r+b") as file:
        file.truncate(1)
    os.chmod(s.blob(), 0o444)


@tamper
def blob_removed(s):
    os.unlink(s.blob())


@tamper
def score_edited_in_the_index(s):
    s.sql("update scores set value = 0.123")


@tamper
def outcome_edited_in_the_index(s):
    s.sql("update outcomes set outcome = 'refused'")


@tamper
def row_removed_from_the_index(s):
    s.sql("pragma foreign_keys = off",
          "delete from attempts where attempt = (select max(attempt) from attempts)")


@tamper
def artifact_edited_in_the_index(s):
    s.sql("update artifacts set path = 'other'")


def findings(done):
    """(kind, what it is about) of every damning finding, ids and digests left out."""
    found = set()
    for f in done.json.get("findings", []):
        if f.get("damning", True):
            found.add(f["kind"])
    return frozenset(found)


@pytest.fixture
def store(as_root):
    return Store(as_root)


def test_the_chain_is_what_the_document_says(store):
    for n, attempt in enumerate(store.ids):
        head = chain.check(store.lines(n), attempt, store.manifest(n))
        assert any(head.hex().encode() in line for line in store.seals())
    assert store.hemra.run("verify").status == 0


def test_every_tampering_is_found_and_told_apart(store):
    """Trust page: record.chain, record.seal, record.index"""
    missed, kinds, seen = [], set(), {}
    for name, change in TAMPER.items():
        store.reset()
        assert store.hemra.run("verify").status == 0, "the pristine store does not verify"
        change(store)
        store.hemra.own(store.path)
        done = store.hemra.run("verify", "--json")
        if done.status != 1:
            missed.append(f"{name}: {done!r}")
            continue
        seen[name] = findings(done)
        kinds |= seen[name]
    for name, found in seen.items():
        print(f"{name}: {', '.join(sorted(found))}")
    assert not missed, "\n".join(missed)
    assert len(TAMPER) >= 20
    assert len(set(seen.values())) >= 20, "fewer than twenty kinds are told apart"


def test_verify_changes_nothing(store):
    edit(store.events(), b'"type":"harness.ready"', b'"type":"harness.teady"')
    before = {p: (os.path.getsize(p), os.stat(p).st_mtime_ns) for p in
              glob.glob(store.path + "/**", recursive=True) if os.path.isfile(p)
              and "index.sqlite" not in p}
    assert store.hemra.run("verify").status == 1
    after = {p: (os.path.getsize(p), os.stat(p).st_mtime_ns) for p in before}
    assert before == after


def test_a_changed_line_is_named(store):
    lines = store.lines()
    lines[4] = lines[4].replace(b'"src":"', b'"src":"x', 1)
    store.put(lines)
    done = store.hemra.run("verify", "--json")
    assert done.status == 1
    assert any(f.get("line") == 5 for f in done.json["findings"]), repr(done)


def test_rows_of_the_index_are_append_only(store):
    base = sqlite3.connect(store.path + "/index.sqlite")
    for table, column in (("runs", "file"), ("attempts", "task"), ("attempt_transitions", "state"),
                          ("artifacts", "path"), ("outcomes", "reason"), ("scores", "name")):
        for statement in (f"delete from {table}", f"update {table} set {column} = 'x'"):
            with pytest.raises(sqlite3.DatabaseError, match=f"{table} is append-only"):
                base.execute(statement)
    base.close()
