# SPDX-License-Identifier: Apache-2.0
"""Nothing leaves the machine on its own: every command with a capture on every interface.

A thread gets a network namespace of its own, with a route that packets could take, and runs hemra
there while a packet socket looks at all interfaces, loopback included. The control sends one packet.
"""

import ctypes
import os
import socket
import struct
import subprocess
import threading
import time

import pytest

import house

CLONE_NEWNET = 0x40000000


class Capture:
    """Packets in the calling thread's network namespace, without the kernel's own housekeeping."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setblocking(False)

    def packets(self):
        time.sleep(0.05)
        found = []
        while True:
            try:
                data, where = self.socket.recvfrom(65536)
            except BlockingIOError:
                return found
            kind = struct.unpack("!H", data[12:14])[0]
            if kind == 0x86dd and data[20] in (0, 58):  # multicast listener and router discovery
                continue
            found.append((where[0], where[2], data[12:60].hex()))


def set_up():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for line in ("link set lo up", "link add away type veth peer name there", "link set there up",
                 "addr add 198.51.100.1/24 dev away", "link set away up",
                 "neigh add 198.51.100.2 lladdr 02:00:00:00:00:02 dev away",
                 "route add default via 198.51.100.2"):
        subprocess.run(["ip", *line.split()], check=True)


def in_namespace(work):
    """Runs work() in a thread with a network of its own; returns or raises what it does."""
    box = {}

    def body():
        try:
            set_up()
            box["got"] = work()
        except BaseException as error:  # handed to the test's thread
            box["error"] = error

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if "error" in box:
        raise box["error"]
    return box["got"]


@pytest.fixture
def needs_root():
    if os.geteuid() != 0:
        pytest.skip("a capture needs root")


def prepare(hemra):
    row, done = hemra.attempt("play.py", "check")
    return row["attempt"], done.json["run"]


VERBS = {
    "run": lambda a, r: ["run", "run.toml"],
    "exec": lambda a, r: ["exec", "--", "true"],
    "harness-check": lambda a, r: ["harness", "check", "harnesses/agent.toml"],
    "runs": lambda a, r: ["runs"],
    "show": lambda a, r: ["show", a, "--events"],
    "show-diff": lambda a, r: ["show", a, "--diff"],
    "cancel": lambda a, r: ["cancel", a],
    "export": lambda a, r: ["export", r, "out"],
    "verify": lambda a, r: ["verify"],
    "rm": lambda a, r: ["rm", a],
    "gc": lambda a, r: ["gc"],
    "doctor": lambda a, r: ["doctor", "--json"],
    "doctor-reap": lambda a, r: ["doctor", "--reap", "--reindex"],
    "help": lambda a, r: ["help"],
    "version": lambda a, r: ["version"],
    "print-config": lambda a, r: ["run", "run.toml", "--print-config"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_leaves(needs_root, hemra, verb):
    """Trust page: leaves.none"""
    attempt, run = prepare(hemra)

    def work():
        capture = Capture()
        done = hemra.run(*VERBS[verb](attempt, run))
        return done, capture.packets()

    done, packets = in_namespace(work)
    assert done.status == (2 if verb == "cancel" else 0), repr(done)
    assert not packets


def test_an_agent_with_network_none_sends_nothing(needs_root, hemra):
    """Trust page: leaves.none"""
    def work():
        capture = Capture()
        row, _ = hemra.attempt(
            "play.py", "shell", "for a in 203.0.113.5 198.51.100.2 198.51.100.1; do "
            "timeout 2 bash -c \"echo x >/dev/tcp/$a/80\"; timeout 2 bash -c \"echo x >/dev/udp/$a/53\"; "
            "done; getent hosts example.org; true")
        return row, capture.packets()

    row, packets = in_namespace(work)
    assert row["outcome"] == "completed"
    assert not packets


def test_control_the_capture_sees_a_packet_and_an_unboxed_agent_sends_one(needs_root, hemra):
    def work():
        capture = Capture()
        subprocess.run(["bash", "-c", "echo x >/dev/udp/203.0.113.5/53"], check=True)
        outside = capture.packets()
        hemra.attempt("play.py", "shell", "bash -c 'echo x >/dev/udp/203.0.113.5/53'; true",
                      flags=["--sandbox", "local"])
        return outside, capture.packets()

    outside, local = in_namespace(work)
    assert outside, "the capture is blind"
    assert local, "a local harness has the operator's network; the capture should have seen it"
