#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo's honest agent. It calls no model: it has two small skills and says which one it uses.

repair: for a C project with a failing `make test`. Tries small edits one at a time (a comparison,
    a constant, `if` for `while`, one parser function for another), builds and runs the tests after
    each, and keeps an edit when more cases pass. Program repair as it was before models.
summarise: for orders.csv. A plain program.

Everything goes through events of hemra/1, so that the record shows what was done.
"""

import csv
import difflib
import json
import os
import re
import subprocess
import time
from decimal import Decimal

from hemra1 import Session

TRY_SECONDS = 1
SEARCH_SECONDS = 150

# What an edit may do to a line: (pattern, replacements).
EDITS = (
    (r"\bif \(", ["while ("]),
    (r"\bwhile \(", ["if ("]),
    (r"(?<=[^<>=!])>(?=[^>=])(?!-)", [">=", "<"]),
    (r"(?<=[^<>=!])<(?=[^<=])", ["<=", ">"]),
    (r">=", [">"]),
    (r"<=", ["<"]),
    (r"==", ["!="]),
    (r"!=", ["=="]),
    (r"(?<=[ (])1(?=[);])", ["0", "2"]),
    (r"(?<=[ (])0(?=[);])", ["1"]),
    (r"&&", ["||"]),
    (r"\|\|", ["&&"]),
)


def run(command, cwd, seconds):
    """Runs a command; returns (status, output). A command that takes too long has failed."""
    try:
        done = subprocess.run(command, cwd=cwd, timeout=seconds, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, "took too long"


def tell(session, name, args, command, cwd):
    call = session.call(name, args)
    status, output = run(command, cwd, 60)
    session.result(call, status == 0, output)
    return status, output


def passed(output):
    found = re.search(r"(\d+) passed, (\d+) failed", output)
    return (int(found[1]), int(found[2])) if found else (-1, 1)


def edits_of(line, functions):
    """All small edits of one line."""
    for pattern, replacements in EDITS:
        for found in re.finditer(pattern, line):
            for new in replacements:
                yield line[:found.start()] + new + line[found.end():]
    for found in re.finditer(r"\b(parse_\w+)\(p\)", line):
        for other in functions:
            if other != found[1]:
                yield line[:found.start()] + other + "(p)" + line[found.end():]


class Repair:
    """Looks for edits of one file that make more cases pass."""

    def __init__(self, session, workspace, source):
        self.session = session
        self.workspace = workspace
        self.path = os.path.join(workspace, source)
        with open(self.path, encoding="utf-8") as file:
            self.original = file.read().splitlines(keepends=True)
        self.lines = list(self.original)
        self.tried = 0

    def score(self, lines):
        with open(self.path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        self.tried += 1
        return passed(run(["make", "-s", "test"], self.workspace, TRY_SECONDS)[1])[0]

    def pass_over(self, best, wanted, until):
        """One pass over all lines; returns the best number of passing cases."""
        text = "".join(self.lines)
        functions = sorted(set(re.findall(r"^static long (parse_\w+)\(", text, re.M)))
        for number, line in enumerate(list(self.lines)):
            if line.startswith(("#", "static", "/*")):
                continue
            for candidate in edits_of(line, functions):
                if best >= wanted or time.monotonic() > until:
                    return best
                trial = self.lines[:number] + [candidate] + self.lines[number + 1:]
                score = self.score(trial)
                if score > best:
                    call = self.session.call("edit", {"line": number + 1, "old": line.strip(),
                                                      "new": candidate.strip()})
                    self.session.result(call, True, f"{score} of {wanted} pass, before {best}")
                    self.lines, best = trial, score
                    break
        return best

    def search(self):
        first = passed(run(["make", "-s", "test"], self.workspace, 60)[1])
        best, wanted = first[0], sum(first)
        until = time.monotonic() + SEARCH_SECONDS
        while best < wanted:
            better = self.pass_over(best, wanted, until)
            if better == best:
                break
            best = better
        self.take_back(best)
        self.score(self.lines)
        return best, wanted

    def take_back(self, best):
        """Takes back every edit that the others made needless."""
        for number, line in enumerate(self.original):
            if self.lines[number] == line:
                continue
            trial = self.lines[:number] + [line] + self.lines[number + 1:]
            if self.score(trial) >= best:
                call = self.session.call("edit", {"line": number + 1, "undo": line.strip()})
                self.session.result(call, True, "it was not needed")
                self.lines = trial

    def patch(self):
        name = os.path.relpath(self.path, self.workspace)
        return "".join(difflib.unified_diff(self.original, self.lines, "a/" + name, "b/" + name))


def repair(session, workspace, artifacts):
    session.message("A C project with tests: I try small edits and keep what makes more pass.")
    tell(session, "shell", {"cmd": "make test"}, ["make", "test"], workspace)
    work = Repair(session, workspace, "src/expr.c")
    best, wanted = work.search()
    tell(session, "shell", {"cmd": "make test"}, ["make", "test"], workspace)
    with open(os.path.join(artifacts, "patch.diff"), "w", encoding="utf-8") as file:
        file.write(work.patch())
    session.artifact("patch.diff", "text/x-diff", "patch")
    return f"{best} of {wanted} cases pass after {work.tried} trials; the edits are in patch.diff."


def summarise(session, workspace, artifacts):
    del artifacts
    session.message("A table of orders. I add it up as the instruction says.")
    call = session.call("read", {"path": "orders.csv"})
    with open(os.path.join(workspace, "orders.csv"), newline="", encoding="utf-8") as file:
        last = {row["order_id"]: row for row in csv.DictReader(file)}
    session.result(call, True, f"{len(last)} different orders")
    cents = {}
    countries = {}
    for order, row in last.items():
        if row["status"].lower() not in ("cancelled", "test"):
            cents[order] = int(Decimal(row["amount"].replace(",", "")) * 100)
            code = row["country"].upper()
            countries[code] = countries.get(code, 0) + cents[order]
    summary = {"orders": len(cents), "total_cents": sum(cents.values()), "by_country": countries,
               "largest_order": max(cents, key=cents.get)}
    call = session.call("write", {"path": "summary.json"})
    with open(os.path.join(workspace, "summary.json"), "w", encoding="utf-8") as file:
        json.dump(summary, file)
    session.result(call, True, json.dumps(summary))
    return f"{len(cents)} orders count."


def main():
    session = Session("demo-honest", "1")
    paths = session.start["paths"]
    workspace = paths["workspace"]
    if os.path.exists(os.path.join(workspace, "src/expr.c")):
        final = repair(session, workspace, paths["artifacts"])
    elif os.path.exists(os.path.join(workspace, "orders.csv")):
        final = summarise(session, workspace, paths["artifacts"])
    else:
        session.finish("refused", "I have no skill for this task.")
        return
    usage = {"input": 0, "output": 0, "cost_usd": 0.0}
    session.event("usage", **usage)
    session.finish("completed", final, usage=usage)


if __name__ == "__main__":
    main()
