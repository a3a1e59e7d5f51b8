#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""House rules that a text search can hold: sizes, SPDX lines, comments, functions that are not
called here, variables that clean up after themselves, words that promise later work."""

import re

import lint

FILE_LINES = 800
FUNCTION_LINES = 70
SPDX = "SPDX-License-Identifier: Apache-2.0"
UNDONE = re.compile(r"\b(TODO|FIXME|XXX)\b")

# What is not called anywhere, and what to do instead.
BANNED = {
    "strcpy": "it knows no size: buf_add_text or own_strdup",
    "strcat": "it knows no size: buf_add_text",
    "strncpy": "it may leave no terminator: own_strndup or memcpy",
    "strncat": "its size is what is left, not what there is: buf_add",
    "stpcpy": "it knows no size: buf_add_text",
    "sprintf": "it knows no size: snprintf, own_printf or buf_addf",
    "vsprintf": "it knows no size: vsnprintf or buf_vaddf",
    "gets": "it knows no size",
    "atoi": "it cannot fail: str_parse_u64",
    "atol": "it cannot fail: str_parse_u64",
    "atoll": "it cannot fail: str_parse_u64",
    "atof": "it cannot fail: strtod and its end",
    "strtok": "it keeps state: strchr or strcspn",
    "alloca": "a size on the stack that a peer may choose: struct buf",
    "system": "a shell reads the words: fork and exec",
    "popen": "a shell reads the words: fork and exec",
    "mktemp": "the name can be taken before it is used: mkstemp, mkdtemp or O_TMPFILE",
    "tmpnam": "the name can be taken before it is used: mkstemp, mkdtemp or O_TMPFILE",
    "tempnam": "the name can be taken before it is used: mkstemp, mkdtemp or O_TMPFILE",
    "rand": "it can be guessed: rand_bytes",
    "random": "it can be guessed: rand_bytes",
    "srand": "it can be guessed: rand_bytes",
    "setlocale": "numbers are read and written in the C locale",
    "localtime": "records are in UTC: wall_format",
    "ctime": "it keeps state and is local: wall_format",
    "asctime": "it keeps state: wall_format",
    "gmtime": "it keeps state: gmtime_r",
    "usleep": "waiting belongs to the loop",
}
# Of these, the ones that are wrong in a test, too; tests know the sizes of their own texts.
BANNED_IN_TESTS = {"gets", "strtok", "mktemp", "tmpnam", "tempnam", "setlocale"}
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
CLEANUP = re.compile(r"(?<![\w#])auto(?:done\s*\([^)]*\)|free|close)\s+([^;{}()]*(?:\([^;]*?\)|\{[^;]*?\})?[^;]*);")
LEAVES = re.compile(r"\b(?:return|goto|break|continue)\b")


def number_at(text, offset):
    return text.count("\n", 0, offset) + 1


def check_sizes(name, text, bare, faults):
    lines = text.count("\n")
    if lines > FILE_LINES:
        faults.add(name, FILE_LINES + 1, f"{lines} lines, {FILE_LINES} is the most")
    begin, count, table = None, 0, False
    for number, line in enumerate(bare.splitlines(), 1):
        line = line.rstrip()
        if line == "{":
            begin, count, table = number, 0, False
        elif line.startswith("}") and begin is not None:
            if count > FUNCTION_LINES:
                faults.add(name, begin, f"a function of {count} lines, {FUNCTION_LINES} is the most")
            begin = None
        else:
            # a table within a function may be as long as it is
            table = table or line.endswith(("= {", "= { {"))
            count += not table
            table = table and not line.endswith("};")


def declarators(text):
    """Splits at the commas that stand outside of all brackets."""
    depth, piece = 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            yield piece
            piece = ""
        else:
            piece += c
    yield piece


def check_cleanup(name, bare, faults):
    for found in CLEANUP.finditer(bare):
        for piece in declarators(found[1]):
            if "=" in piece:
                continue
            variable = re.findall(r"\w+", piece)[-1]
            used = re.search(rf"\b{variable}\b", bare[found.end():])
            left = LEAVES.search(bare, found.end())
            if used is None or (left is not None and left.start() < found.end() + used.start()):
                faults.add(name, number_at(bare, found.start()),
                           f"'{variable}' cleans up after itself, and this scope can be left before it is set")


def check_file(tree, name, faults):
    text = tree.read(name)
    bare = lint.strip(text)
    if SPDX not in text.split("\n", 1)[0]:
        faults.add(name, 1, f"the first line is not /* {SPDX} */")
    if text and not text.endswith("\n"):
        faults.add(name, text.count("\n") + 1, "the last line does not end")
    for number in lint.line_comments(text):
        faults.add(name, number, "a // comment; comments are /* */")
    for found in CALL.finditer(bare):
        if not name.startswith("src/") and found[1] not in BANNED_IN_TESTS:
            continue
        faults.add(name, number_at(bare, found.start()), f"{found[1]}() is not used: {BANNED[found[1]]}")
    if name.startswith("src/"):
        for found in UNDONE.finditer(text):
            faults.add(name, number_at(text, found.start()), f"'{found[1]}' is work undone; do it or file it")
    check_sizes(name, text, bare, faults)
    check_cleanup(name, bare, faults)


def main():
    tree, _ = lint.arguments()
    faults = lint.Faults()
    names = tree.sources(".c", ".h", ".cc")
    for name in names:
        check_file(tree, name, faults)
    faults.end(len(names), "files")


main()
