#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps docs/trust.md in step: every claim of claim.h stands on the page, every claim of the page
has a probe or a test that names it, and every test that the page names exists."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def main():
    page = read("docs/trust.md")
    header = read("src/ground/terms/claim.h")
    probed = set(re.findall(r'^\tX\(\w+,\s*"(box\.[a-z0-9_.]+)"', header, re.M))
    leaves = read("tests/scenario/test_leaves.py")
    wrong = []
    on_page = {}
    for line in page.splitlines():
        row = re.match(r"\| ((?:box|record|secrets|leaves)\.[a-z0-9_.]+) \|(.*)\|$", line)
        if row:
            if row[1] in on_page:
                wrong.append(f"{row[1]}: stands on the page twice")
            on_page[row[1]] = row[2]
    for claim in sorted(probed - set(on_page)):
        wrong.append(f"{claim}: is in claim.h and not in docs/trust.md")
    for claim, rest in on_page.items():
        files = re.findall(r"tests/[\w/]+\.py", rest)
        for path in files:
            if not os.path.exists(os.path.join(ROOT, path)):
                wrong.append(f"{claim}: {path} does not exist")
            elif claim not in read(path):
                wrong.append(f"{claim}: {path} does not name it")
        for test in re.findall(r"(test_\w+)(?:\[([\w-]+)\])?", rest):
            if test[0] + ".py" in rest or not claim.startswith("leaves."):
                continue
            if f"def {test[0]}(" not in leaves:
                wrong.append(f"{claim}: test_leaves.py has no {test[0]}")
            if test[1] and f'"{test[1]}":' not in leaves:
                wrong.append(f"{claim}: test_leaves.py has no case {test[1]}")
        if claim not in probed and not files and not claim.startswith("leaves."):
            wrong.append(f"{claim}: no probe and no test")
    for line in wrong:
        print(line)
    print(f"{len(on_page)} claims, {len(wrong)} wrong")
    return 1 if wrong or not on_page else 0


sys.exit(main())
