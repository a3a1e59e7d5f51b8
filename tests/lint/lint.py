# SPDX-License-Identifier: Apache-2.0
"""What every lint of this folder shares: the tree's files, C without its comments, and how to end.

A lint prints `file:line: reason` for each fault and exits with 1, with 0 when there is none, and
with 77 and a reason when it cannot run here. `--root DIR` looks at another tree: selftest uses it."""

import argparse
import os
import re
import shutil
import subprocess
import sys

SKIP = 77


class Tree:
    """The files of the project: what git tracks or would track, else what lies there."""

    def __init__(self, root):
        self.root = os.path.realpath(root)
        listed = None
        if os.path.exists(os.path.join(self.root, ".git")) and shutil.which("git"):
            listed = subprocess.run(
                ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard"],
                cwd=self.root, capture_output=True, check=False)
        if listed is not None and listed.returncode == 0:
            names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
        else:
            names = [os.path.relpath(os.path.join(folder, name), self.root)
                     for folder, _, files in os.walk(self.root) for name in files]
        self.names = sorted(name for name in set(names)
                            if os.path.isfile(os.path.join(self.root, name))
                            and not re.match(r"build[^/]*/", name))

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def sources(self, *ends, under=("src/", "tests/")):
        """Names that end so, beneath these folders."""
        return [n for n in self.names if n.endswith(ends) and n.startswith(tuple(under))]


class Faults:
    """Collects faults and ends the program."""

    def __init__(self):
        self.count = 0

    def add(self, name, line, reason):
        print(f"{name}:{line}: {reason}", flush=True)
        self.count += 1

    def end(self, looked_at, what):
        if looked_at == 0:
            print(f"there are no {what} to look at")
            sys.exit(1)
        print(f"{looked_at} {what}, {self.count} faults")
        sys.exit(1 if self.count else 0)


def skip(reason):
    print(reason)
    sys.exit(SKIP)


def arguments(*names, **defaults):
    """--root and further options; gives the tree and the parsed options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(
        os.path.dirname(os.path.abspath(__file__)))))
    for name in names:
        parser.add_argument(f"--{name}", **defaults)
    options = parser.parse_args()
    return Tree(options.root), options


def need(program, version=None):
    """Skips when a program is missing or of another major version than the pinned one."""
    path = shutil.which(program)
    if path is None:
        skip(f"{program} is not installed")
    if version is not None:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"version (\d+)", said)
        if found is None or int(found[1]) != version:
            skip(f"{program} {version} is pinned, this is {said.strip().splitlines()[0] if said else 'unknown'}")
    return path


_PIECE = re.compile(r"""
    /\*.*?\*/ | //[^\n]*            # comments
    | "(?:\\.|[^"\\\n])*"           # strings
    | '(?:\\.|[^'\\\n])*'           # characters
    """, re.S | re.X)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def strip(text, keep_strings=False):
    """C without comments, and without what is within quotes; every line keeps its number."""
    def replace(match):
        piece = match[0]
        if piece[0] == "/":
            return _blank(piece)
        return piece if keep_strings else piece[0] + _blank(piece[1:-1]) + piece[-1]
    return _PIECE.sub(replace, text)


def line_comments(text):
    """The lines on which a // comment begins."""
    return [text.count("\n", 0, m.start()) + 1 for m in _PIECE.finditer(text) if m[0].startswith("//")]
