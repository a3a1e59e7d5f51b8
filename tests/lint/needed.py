#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caps what each built program loads: its DT_NEEDED is within its row of needed.txt, and dlopen()
stands only where needed.txt says what it loads. Every library costs each start of a program."""

import json
import os
import re
import subprocess

import lint

ROWS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "needed.txt")


def read_rows():
    programs, loads = {}, {}
    with open(ROWS, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words and words[0] == "dlopen":
                loads[words[1]] = words[2:]
            elif words:
                programs[words[0]] = set(words[1:])
    return programs, loads


def built(build):
    """What the build installs that is loaded: {name: file}."""
    with open(os.path.join(build, "meson-info", "intro-targets.json"), encoding="utf-8") as file:
        targets = json.load(file)
    return {t["name"]: t["filename"][0] for t in targets
            if t["installed"] and t["type"] in ("executable", "shared module", "shared library")}


def check_dlopen(tree, loads, faults):
    for name in tree.sources(".c", ".cc", under=("src/",)):
        bare = lint.strip(tree.read(name))
        for found in re.finditer(r"\bdlopen\s*\(", bare):
            if name not in loads:
                faults.add(name, bare.count("\n", 0, found.start()) + 1, "dlopen() without a row in tests/lint/needed.txt")


def main():
    tree, options = lint.arguments("build", "sanitize", default="none")
    faults = lint.Faults()
    programs, loads = read_rows()
    check_dlopen(tree, loads, faults)
    if options.sanitize != "none":
        if faults.count:
            faults.end(1, "trees")
        lint.skip("a build with sanitizers loads their libraries")
    lint.need("readelf")
    names = built(options.build)
    for name, path in sorted(names.items()):
        if not os.path.exists(path):
            print(f"{name} is not built")
            continue
        if name not in programs:
            faults.add("tests/lint/needed.txt", 1, f"{name} is installed and has no row")
            continue
        said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
            if library not in programs[name]:
                faults.add(path, 0, f"{name} loads {library}, which its row of tests/lint/needed.txt does not allow")
    if not names and faults.count == 0:
        lint.skip("no program is built yet")
    faults.end(max(len(names), 1), "programs")


main()
