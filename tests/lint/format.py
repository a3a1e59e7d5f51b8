#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-format would change nothing. One version is pinned, because versions differ in what they
do with the same .clang-format. `make format` makes the changes."""

import re
import subprocess

import lint

VERSION = 14


def main():
    tree, _ = lint.arguments()
    program = lint.need(f"clang-format-{VERSION}" if lint.shutil.which(f"clang-format-{VERSION}") else "clang-format", VERSION)
    faults = lint.Faults()
    names = tree.sources(".c", ".h", ".cc")
    for at in range(0, len(names), 50):
        result = subprocess.run([program, "--style=file", "--dry-run", "-Werror", *names[at:at + 50]],
                                cwd=tree.root, text=True, capture_output=True, check=False)
        wrong = {}
        for found in re.finditer(r"^([^\s:]+):(\d+):\d+: error: (.*)$", result.stderr, re.M):
            wrong.setdefault(found[1], []).append(int(found[2]))
        for name, lines in wrong.items():
            faults.add(name, lines[0], f"clang-format would change {len(lines)} places (make format)")
        if result.returncode != 0 and not wrong:
            faults.add(names[at], 1, result.stderr.strip())
    faults.end(len(names), "files")


main()
