#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cppcheck: errors, warnings and portability, nothing of style. What cppcheck gets wrong stands in
cppcheck.txt with its reason."""

import os
import subprocess

import lint


def main():
    tree, options = lint.arguments("build", default="")
    program = lint.need("cppcheck")
    faults = lint.Faults()
    names = tree.sources(".c")
    words = [program, "--quiet", "--enable=warning,portability", "--std=c11", "--language=c", "-j2",
             "--inline-suppr", "--suppressions-list=" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "cppcheck.txt"),
             "--template={file}\t{line}\t{id}: {message}", "-I", "src", "-D_GNU_SOURCE", "-D__linux__", "-D__x86_64__",
             '-DHEMRA_VERSION=""']
    if options.build:
        cache = os.path.join(os.path.abspath(options.build), "lint-cppcheck")
        os.makedirs(cache, exist_ok=True)
        words.append(f"--cppcheck-build-dir={cache}")
    result = subprocess.run([*words, *names], cwd=tree.root, text=True, capture_output=True, check=False)
    if result.returncode != 0: # faults alone leave it at 0
        faults.add("cppcheck", 0, f"ended with status {result.returncode}: {result.stdout.strip()}")
    for line in sorted(set(result.stderr.splitlines())):
        pieces = line.split("\t", 2)
        if len(pieces) == 3:
            faults.add(*pieces)
        elif line:
            faults.add("cppcheck", 0, line)
    faults.end(len(names), "files")


main()
