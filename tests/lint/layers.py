#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The floors: compares every #include of src/ with LAYERS.

A file may include its own folder and folders on lines above it, never a neighbour on its line and
never a line below. From outside, a folder shows its door alone, <folder>/<folder>.h; ground/ shows
all its headers but those that say they are private to their folder."""

import re

import lint

PRIVATE = "private to this folder"


def read_layers(tree, faults):
    floors = {}
    for number, line in enumerate(tree.read("LAYERS").splitlines(), 1):
        for folder in line.split("#")[0].split():
            if folder in floors:
                faults.add("LAYERS", number, f"{folder} stands on two lines")
            floors[folder] = number
    return floors


def folder_of(path, floors):
    """The listed folder that holds a path below src/."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in floors:
        parts.pop()
    return "/".join(parts)


def refusal(tree, floors, folder, header):
    """Why folder may not include header, or None."""
    other = folder_of(header, floors)
    if f"src/{header}" not in tree.names:
        return f"'{header}' is not in src/; headers are named from there"
    if other == folder:
        return None
    if floors[other] == floors[folder]:
        return f"{folder} may not include {other}, its neighbour on line {floors[other]} of LAYERS"
    if floors[other] > floors[folder]:
        return f"{folder} may not include {other}, which stands below it in LAYERS"
    door = f"{other}/{other.split('/')[-1]}.h"
    if not other.startswith("ground/") and header != door:
        return f"'{header}' is private to {other}; its door is {door}"
    if PRIVATE in tree.read(f"src/{header}"):
        return f"'{header}' says that it is {PRIVATE}, which is {other}"
    return None


def main():
    tree, _ = lint.arguments()
    faults = lint.Faults()
    floors = read_layers(tree, faults)
    names = tree.sources(".c", ".h", ".cc", under=("src/",))
    for name in names:
        folder = folder_of(name[4:], floors)
        if not folder:
            faults.add(name, 1, "its folder does not stand in LAYERS")
            continue
        text = lint.strip(tree.read(name), keep_strings=True)
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            reason = refusal(tree, floors, folder, found[1]) if found else None
            if reason:
                faults.add(name, number, reason)
    faults.end(len(names), "files")


main()
