#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/events.md is what print_events makes of the table in ground/terms/event.h.
`events.py --program build/tests/lint/print_events --write yes` writes the page."""

import subprocess

import lint

PAGE = "docs/events.md"


def main():
    tree, options = lint.arguments("program", "write", default=None)
    made = subprocess.run([options.program], capture_output=True, text=True, check=True).stdout
    if options.write:
        with open(tree.path(PAGE), "w", encoding="utf-8") as file:
            file.write(made)
        return
    faults = lint.Faults()
    stands = tree.read(PAGE).splitlines() if PAGE in tree.names else []
    wanted = made.splitlines()
    for number in range(max(len(stands), len(wanted))):
        if stands[number:number + 1] != wanted[number:number + 1]:
            faults.add(PAGE, number + 1, f"differs from the table in ground/terms/event.h; make it anew: "
                       f"python3 tests/lint/events.py --program {options.program} --write yes")
            break
    faults.end(len(wanted), "lines")


main()
