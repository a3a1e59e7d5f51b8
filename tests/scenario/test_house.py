# SPDX-License-Identifier: Apache-2.0
"""The house's own look at leftovers must be able to see some."""

import os
import subprocess

import house


class Nobody:
    """Stands for a test's hemra: only the places that are looked at."""

    def __init__(self, path):
        self.store, self.tmp = str(path) + "/store", str(path) + "/tmp"
        os.makedirs(self.tmp)
        os.makedirs(self.store + "/live")


def test_a_daemon_in_a_session_of_its_own_is_seen_and_killed(tmp_path):
    before, nobody = house.Leftovers(), Nobody(tmp_path)
    subprocess.run(["sh", "-c", "setsid sh -c 'trap \"\" TERM; sleep 600' >/dev/null 2>&1 &"],
                   check=True)
    left = before.since(nobody, seconds=0)
    assert any("process" in line for line in left)
    assert house.wait_for(lambda: not before.now(nobody))


def test_files_and_sockets_are_seen(tmp_path):
    before, nobody = house.Leftovers(), Nobody(tmp_path)
    assert not before.since(nobody, seconds=0)
    house.write(nobody.tmp + "/hemra-check-1", "")
    house.write(nobody.store + "/live/x.sock", "")
    assert len(before.since(nobody, seconds=0)) == 2


def test_mounts_and_control_groups_are_seen(tmp_path, monkeypatch):
    before, nobody = house.Leftovers(), Nobody(tmp_path)
    monkeypatch.setattr(house, "cgroups", lambda: {"/sys/fs/cgroup/x/hemra-1"})
    monkeypatch.setattr(house, "mounts", lambda: before.mounts | {"/somewhere"})
    assert len(before.since(nobody, seconds=0)) == 2
