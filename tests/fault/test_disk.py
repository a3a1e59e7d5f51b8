# SPDX-License-Identifier: Apache-2.0
"""A full disk, and two hemra on one store."""

import os
import subprocess

import pytest

import house


@pytest.fixture
def small(as_root):
    """A store on a file system of 3 MB."""
    os.mkdir(as_root.store)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "none", as_root.store], check=True)
    yield as_root
    as_root.stop_all()
    house.wait_for(lambda: not house.living(), 20)
    subprocess.run(["umount", "-l", as_root.store], check=True)


def test_full_disk_ends_the_attempt_and_loses_nothing_written(small):
    """Trust page: record.full"""
    small.harness("agent", "play.py", "python",
                  "n = 0\nwhile n < 60:\n    n += 1; event(n, 'log', text=str(n) + 'q' * 300000)\nresult()")
    small.task()
    small.run_file(["agent"], ["tasks/one"])
    os.mkdir(small.cwd + "/work")
    done = small.run("run", "run.toml", "--json", "--work-dir", "work")
    row = done.json["attempts"][0]
    assert row["outcome"] == "infra:environment", repr(done)
    assert "No space left" in row["reason"], repr(done)
    assert done.status == 3
    texts = [d["text"].rstrip("q") for d in small.of_type(row["attempt"], "harness.other")]
    assert texts == [str(n) for n in range(1, len(texts) + 1)] and texts


def test_full_disk_before_the_start_is_one_sentence(small):
    with open(small.store + "/fill", "wb") as file:
        try:
            while True:
                file.write(bytes(65536))
                file.flush()
        except OSError:
            pass
    small.harness("agent", "play.py", "ok")
    small.task()
    small.run_file(["agent"], ["tasks/one"])
    done = small.run("run", "run.toml")
    assert done.status in (2, 3), repr(done)
    assert "No space left" in done.err + done.out, repr(done)
    os.unlink(small.store + "/fill")
    assert small.run("run", "run.toml").status == 0


def test_two_hemra_on_one_store(hemra):
    hemra.harness("agent", "play.py", "ok")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"], "attempts = 6\nconcurrency = 2\n")
    running = [hemra.start("run", "run.toml", "--json") for _ in range(3)]
    while any(p.poll() is None for p in running):
        looked = hemra.run("runs", "--json")
        assert looked.status in (0, 2), repr(looked)
    rows = []
    for p in running:
        done = hemra.finish(p)
        assert done.status == 0, repr(done)
        rows += done.json["attempts"]
    assert len({row["attempt"] for row in rows}) == 18
    assert all(row["score"] == 1 for row in rows)
    assert hemra.run("verify").status == 0


def test_reap_leaves_what_another_hemra_runs_alone(hemra):
    hemra.harness("agent", "play.py", "wait")
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"])
    running = hemra.start("run", "run.toml", "--json")
    attempt = house.wait_for(hemra.attempts)[0]
    assert house.wait_for(lambda: hemra.of_type(attempt, "harness.message"))
    assert hemra.run("doctor", "--reap").status == 0
    assert running.poll() is None
    assert hemra.run("cancel", attempt).status == 0
    assert hemra.finish(running, seconds=60).json["attempts"][0]["outcome"] == "cancelled"
