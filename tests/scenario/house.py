# SPDX-License-Identifier: Apache-2.0
"""Helpers of the scenario tests: running hemra as somebody, writing its files, seeing leftovers."""

import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BINARY = os.environ.get("HEMRA", os.path.join(ROOT, "build/src/programs/hemra"))
PYTHON = "/usr/bin/python3"
USER = 64123  # an id that nobody has
PATIENCE = 60  # seconds that a bounded wait may take before the test gives up
ULID = re.compile(r"hemra-[0-9a-z]{26}(-v[0-9]+)?-[0-9]+-[0-9]+$")

# Steps of a stop that a test need not sit out; a run file with [limits] of its own has others.
SHORT = "[limits]\nhandshake = \"20s\"\ncancel_grace = \"500ms\"\nterm_grace = \"500ms\"\n"

# Orphans of hemra become children of this process, so that none can hide.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def can_be(who):
    return os.geteuid() == 0 or who == "user"


def wait_for(what, seconds=PATIENCE):
    """Polls until what() is true; returns it. None after the time is up."""
    until = time.monotonic() + seconds
    while True:
        got = what()
        if got or time.monotonic() > until:
            return got
        time.sleep(0.02)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def toml(value):
    """A value as TOML; JSON's spelling does for strings, numbers, booleans and lists of them."""
    return json.dumps(value)


class Place:
    """hemra as installed and the agents, where every user can read them."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="hemra-test-")
        os.chmod(self.path, 0o755)
        build = os.path.abspath(os.path.join(os.path.dirname(BINARY), "../.."))
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir",
                        self.path + "/installed"], check=True, stdout=subprocess.DEVNULL)
        self.binary = self.path + "/installed/usr/local/bin/hemra"
        self.agents = shutil.copytree(os.path.join(HERE, "agents"), self.path + "/agents")
        shutil.copy(os.path.join(ROOT, "demo/agents/hemra1.py"), self.agents)
        for directory, _, names in os.walk(self.path):
            os.chmod(directory, 0o755)
            for name in names:
                os.chmod(os.path.join(directory, name), 0o755)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Result:
    """How one command ended."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.out[-3000:]}\nstderr: {self.err[-3000:]}"


class Hemra:
    """hemra as one user, in a folder of its own."""

    def __init__(self, place, who):
        self.place, self.who = place, who
        self.uid = USER if who == "user" and os.geteuid() == 0 else os.geteuid()
        self.started = []

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="t-", dir=self.place.path)
        self.home, self.state = self.dir + "/home", self.dir + "/state"
        self.tmp, self.cwd, self.store = self.dir + "/tmp", self.dir + "/cwd", self.dir + "/store"
        for path in (self.home, self.state, self.tmp, self.cwd):
            os.mkdir(path, 0o755)
        self.own()
        return self

    def __exit__(self, *_):
        self.stop_all()
        subprocess.run(["chmod", "-R", "u+rwx", self.dir], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def own(self, path=None):
        """Gives what the test wrote to the user that hemra runs as."""
        if os.geteuid() != 0:
            return
        for directory, directories, names in os.walk(path or self.dir):
            for name in ["."] + directories + names:
                os.lchown(os.path.join(directory, name), self.uid, self.uid)

    def environment(self, more=None):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "TMPDIR": self.tmp,
               "XDG_STATE_HOME": self.state, "HEMRA_STORE": self.store, "LANG": "C.UTF-8"}
        env.update(more or {})
        return env

    def popen(self, words, env=None, cwd=None, **more):
        """Starts any program as this user."""
        if os.geteuid() == 0:
            more.update(user=self.uid, group=self.uid, extra_groups=[])
        p = subprocess.Popen(words, env=self.environment(env), cwd=cwd or self.cwd, **more)
        self.started.append(p)
        return p

    def start(self, *words, **more):
        """Starts hemra with pipes on its output."""
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return self.popen([self.place.binary, *map(str, words)], **more)

    def finish(self, p, given=None, seconds=300):
        try:
            out, err = p.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            raise AssertionError(f"hemra did not end in {seconds} s\n{out[-2000:]}\n{err[-2000:]}"
                                 ) from None
        return Result(p.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def run(self, *words, given=None, seconds=300, **more):
        """Runs hemra to its end."""
        if given is not None:
            more["stdin"] = subprocess.PIPE
        return self.finish(self.start(*words, **more), given, seconds)

    def stop_all(self):
        for p in self.started:
            if p.poll() is None:
                p.kill()
            p.wait()
            for stream in (p.stdin, p.stdout, p.stderr):
                if stream:
                    stream.close()

    # ---- files -------------------------------------------------------------------------------

    def harness(self, name, *words, kind="program", extra="", local=False):
        """Writes harnesses/NAME.toml for an agent of tests/scenario/agents; returns the path.

        local: for --sandbox local, where nothing is mounted and a path is what it is here.
        """
        agents = self.place.agents if local else "/opt/agents"
        mounts = "" if local else f"mounts = {toml([self.place.agents + ':/opt/agents:ro'])}\n"
        text = (f"name = {toml(name)}\nkind = {toml(kind)}\n"
                f"command = {toml([PYTHON, agents + '/' + words[0], *words[1:]])}\n{mounts}{extra}")
        return self.owned(write(f"{self.cwd}/harnesses/{name}.toml", text))

    def task(self, name="one", test="echo 1 >/logs/verifier/reward.txt\n", files=None, extra="",
             solution="true\n"):
        """Writes a small task; returns its directory. files: what the workspace begins with."""
        task = f"{self.cwd}/tasks/{name}"
        write(f"{task}/task.toml", "[environment]\nworkdir = \"/workspace\"\n"
              "network_mode = \"no-network\"\n" + extra)
        write(f"{task}/instruction.md", f"Do {name}.\n")
        write(f"{task}/tests/test.sh", "#!/bin/sh\n" + test, 0o755)
        write(f"{task}/solution/solve.sh", "#!/bin/sh\n" + solution, 0o755)
        write(f"{task}/environment/start.txt", "start\n")
        for path, text in (files or {}).items():
            write(f"{task}/environment/{path}", text)
        return self.owned(task)

    def owned(self, path):
        if os.geteuid() == 0:
            os.chown(self.cwd, self.uid, self.uid)
            for directory, directories, names in os.walk(self.cwd):
                for name in directories + names:
                    os.lchown(os.path.join(directory, name), self.uid, self.uid)
        return path

    def run_file(self, harnesses, tasks, more="", name="run.toml"):
        text = f"harnesses = {toml(harnesses)}\ntasks = {toml(tasks)}\n{more}"
        if "[limits]" not in more:
            text += SHORT
        return self.owned(write(f"{self.cwd}/{name}", text))

    def attempt(self, *agent, test=None, more="", flags=(), kind="program", extra="", **run):
        """One attempt of an agent on a small task. Returns (attempt's row, Result)."""
        self.harness("agent", *agent, kind=kind, extra=extra, local="local" in flags)
        self.task(**({} if test is None else {"test": test}))
        self.run_file(["agent"], ["tasks/one"], more)
        done = self.run("run", "run.toml", "--json", *flags, **run)
        assert done.out, repr(done)
        report = done.json
        assert "attempts" in report, repr(done)
        assert len(report["attempts"]) == 1, repr(done)
        return report["attempts"][0], done

    # ---- the record --------------------------------------------------------------------------

    def events(self, attempt):
        with open(f"{self.store}/events/{attempt}.jsonl", "rb") as file:
            return [json.loads(line) for line in file.read().split(b"\n")[:-1]]

    def of_type(self, attempt, kind):
        return [line["data"] for line in self.events(attempt) if line["type"] == kind]

    def attempts(self):
        return sorted(os.path.basename(path)[:-6] for path in glob.glob(self.store + "/events/*.jsonl"))


# ---- leftovers ----------------------------------------------------------------------------------


def own_children(pid):
    """The children of a process, as (pid, name, state)."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                words = file.read().split()
        except OSError:
            continue
        for child in words:
            try:
                with open(f"/proc/{child}/stat", encoding="utf-8", errors="replace") as file:
                    text = file.read()
            except OSError:
                continue
            name, state = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2]
            found.append((int(child), name, state))
    return found


def children(pid):
    """All descendants of a process, likewise."""
    found = own_children(pid)
    return found + [below for child, _, _ in found for below in children(child)]


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def living():
    """Descendants of this process that are not merely waiting to be reaped."""
    return [(pid, name) for pid, name, state in children(os.getpid()) if state != "Z"]


def cgroups():
    """Groups of attempts; hemra's unit tests name theirs otherwise."""
    return {path for depth in range(0, 7)
            for path in glob.glob("/sys/fs/cgroup/" + "*/" * depth + "hemra-*")
            if ULID.match(os.path.basename(path))}


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        places = {line.split()[4] for line in file}
    # the kernel mounts these by itself, for whoever looks; and others have temporary files too
    temporary = tempfile.gettempdir() + "/"
    return {place for place in places if not place.startswith(("/sys/", "/proc/sys/"))
            and (not place.startswith(temporary) or place.startswith(temporary + "hemra-"))}


class Leftovers:
    """What was there before a test, to see what it left."""

    def __init__(self):
        reap()
        self.processes = {pid for pid, _, _ in children(os.getpid())}
        self.cgroups, self.mounts = cgroups(), mounts()

    def now(self, hemra):
        reap()
        left = [f"process {pid}" for pid, _, _ in children(os.getpid()) if pid not in self.processes]
        left += [f"cgroup {path}" for path in cgroups() - self.cgroups]
        left += [f"mount {path}" for path in mounts() - self.mounts]
        left += [f"socket {path}" for path in glob.glob(hemra.store + "/live/*")]
        left += [f"file {path}" for path in glob.glob(hemra.tmp + "/*")]
        return left

    def since(self, hemra, seconds=10):
        """Things that stay for a bounded time, so that what other runs of hemra on this machine make and
        remove meanwhile does not count. Processes are killed so that the next test is clean."""
        left = self.now(hemra)

        def gone():
            left[:] = [thing for thing in self.now(hemra) if thing in left]
            return not left

        wait_for(gone, seconds)
        for pid, name, state in children(os.getpid()):
            if pid not in self.processes:
                left = [f"{x} ({name}, {state})" if x == f"process {pid}" else x for x in left]
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        return left
