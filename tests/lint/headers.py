#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header of src/ compiles alone, and twice in a row."""

import shlex
import subprocess

import lint

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", '-DHEMRA_VERSION=""', "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"]


def main():
    tree, options = lint.arguments("cc", default="cc")
    compiler = shlex.split(options.cc)
    lint.need(compiler[0])
    faults = lint.Faults()
    names = tree.sources(".h", under=("src/",))
    for name in names:
        program = f'#include "{name[4:]}"\n#include "{name[4:]}"\n'
        result = subprocess.run([*compiler, "-I", tree.path("src"), *FLAGS], input=program, text=True,
                                capture_output=True, check=False)
        if result.returncode != 0:
            faults.add(name, 1, "does not compile alone:\n" + result.stderr.rstrip())
    faults.end(len(names), "headers")


main()
