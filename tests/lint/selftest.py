#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the lints can fail: each is run over a small tree that is right, where it must find
nothing, then over the same tree with one fault planted, where it must name file, line and reason."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
SKIP = 77

# The tree that is right.
CLEAN = {
    "LAYERS": "# floors\nground/base\nground/wire ground/terms\nstore task\nrun\n",
    "src/ground/base/buf.h": SPDX + "#ifndef GROUND_BASE_BUF_H\n#define GROUND_BASE_BUF_H\n\nint buf_size(void);\n\n#endif\n",
    "src/ground/wire/json.h": SPDX + "#ifndef GROUND_WIRE_JSON_H\n#define GROUND_WIRE_JSON_H\n\nint json_size(void);\n\n#endif\n",
    "src/ground/wire/inner.h": SPDX + "#ifndef GROUND_WIRE_INNER_H\n#define GROUND_WIRE_INNER_H\n\n/* private to this folder */\n\n#endif\n",
    "src/ground/wire/json.c": SPDX + '\n#include "ground/wire/json.h"\n\n#include "ground/base/buf.h"\n#include "ground/wire/inner.h"\n\n'
                              "int json_size(void)\n{\n\treturn buf_size();\n}\n",
    "src/store/store.h": SPDX + "#ifndef STORE_STORE_H\n#define STORE_STORE_H\n\n#endif\n",
    "src/store/inner.h": SPDX + "#ifndef STORE_INNER_H\n#define STORE_INNER_H\n\n#endif\n",
    "src/run/run.c": SPDX + '\n#include "ground/wire/json.h"\n#include "store/store.h"\n\n'
                     "int run(void);\n\nint run(void)\n{\n\treturn json_size(); /* no // comment, no TO DO */\n}\n",
    "tests/unit/main.c": SPDX + "\nint main(void)\n{\n\treturn 0;\n}\n",
}

LONG = "\n".join(f"\tn += {i};" for i in range(71))
TABLE = "\tstatic const int rows[] = {\n" + "\n".join(f"\t\t{i}," for i in range(90)) + "\n\t};\n"

# lint, file, what is added to its end (or, with a pair, replaced), and what must be said.
FAULTS = [
    ("layers", "src/ground/wire/json.c", '#include "ground/terms/id.h"', r"json.c:12: 'ground/terms/id.h' is not in src/"),
    ("layers", "src/ground/wire/json.c", '#include "store/store.h"', r"json.c:12: ground/wire may not include store, which stands below"),
    ("layers", "src/task/task.c", SPDX + '#include "store/store.h"', r"task.c:2: task may not include store, its neighbour on line 4"),
    ("layers", "src/run/run.c", '#include "store/inner.h"', r"run.c:12: 'store/inner.h' is private to store; its door is store/store.h"),
    ("layers", "src/run/run.c", '#include "ground/wire/inner.h"', r"run.c:12: 'ground/wire/inner.h' says that it is private"),
    ("layers", "src/new/new.c", SPDX, r"src/new/new.c:1: its folder does not stand in LAYERS"),
    ("layers", "LAYERS", "run", r"LAYERS:6: run stands on two lines"),
    ("source", "src/run/run.c", "int x; // one", r"run.c:12: a // comment"),
    ("source", "src/run/run.c", "/* TODO later */", r"run.c:12: 'TODO' is work undone"),
    ("source", "src/run/run.c", "void f(char *p)\n{\n\tstrcpy(p, \"\");\n}", r"run.c:14: strcpy\(\) is not used"),
    ("source", "src/run/run.c", "void f(void)\n{\n\tsystem (\"x\");\n}", r"run.c:14: system\(\) is not used: a shell"),
    ("source", "tests/unit/main.c", "void f(char *p)\n{\n\tmktemp(p);\n}", r"main.c:9: mktemp\(\) is not used"),
    ("source", "src/run/run.c", (SPDX, ""), r"run.c:1: the first line is not /\* SPDX"),
    ("source", "src/run/run.c", "void f(int n)\n{\n" + LONG + "\n}", r"run.c:13: a function of 71 lines, 70 is the most"),
    ("source", "src/run/run.c", "\n" * 800, r"run.c:801: 81\d lines, 800 is the most"),
    ("source", "src/run/run.c", "int f(int r)\n{\n\tautofree char *p, *q = NULL;\n\n\tif (r < 0)\n\t\treturn r;\n\tp = q;\n}", r"run.c:14: 'p' cleans up"),
    ("source", "src/run/run.c", "int f(int r)\n{\n\tautodone(buf_done) struct buf b;\n\n\treturn r;\n}", r"run.c:14: 'b' cleans up"),
    ("headers", "src/store/store.h", ("\n#endif", "\nsize_t store_size(void);\n\n#endif"), r"store.h:1: does not compile alone"),
    ("headers", "src/store/store.h", "struct twice { int x; };", r"store.h:1: does not compile alone"),
    ("format", "src/run/run.c", "int  x;", r"run.c:12: clang-format would change"),
    ("cppcheck", "src/run/run.c", "int f(void);\nint f(void)\n{\n\tint a[2] = {0};\n\n\treturn a[2];\n}", r"run.c:17: arrayIndexOutOfBounds"),
    ("tidy", "src/run/run.c", "#include <fcntl.h>\nint f(void);\nint f(void)\n{\n\treturn open(\"/\", O_RDONLY);\n}", r"src/run/run.c:16: .*O_CLOEXEC"),
    ("tidy", "src/run/run.c", "#include <stdlib.h>\nint f(void);\nint f(void)\n{\n\treturn atoi(\"1\");\n}", r"src/run/run.c:16: .*atoi.*cert-err34-c"),
    ("needed", "src/run/run.c", "void *f(void);\nvoid *f(void)\n{\n\treturn dlopen(\"x\", 1);\n}", r"run.c:15: dlopen\(\) without a row"),
    ("needed", "build/needed", "", r"hemra-init loads libc\.so\.6, which its row"),
    ("events", "docs/events.md", ("two", "three"), r"docs/events.md:2: differs from the table"),
]

# What looks like a fault and is none.
FINE = [
    ("source", "src/run/run.c", "void f(void)\n{\n" + TABLE + "\tg(rows);\n}"),
    ("source", "src/run/run.c", "void f(void)\n{\n\tautodone(buf_done) struct buf b;\n\n\tbuf_init(&b, 1);\n\treturn;\n}"),
    ("source", "src/run/run.c", "const char *f = \"// system( TO\" \"DO\";\nstruct s { int (*system)(void); };\nint x = my_system(1) + s.system();"),
    ("source", "tests/unit/main.c", "void f(char *p)\n{\n\tstrcpy(p, \"\");\n}"),
    ("layers", "src/run/run.c", '/* #include "store/inner.h" */\n#include <stdlib.h>'),
]


class Bench:
    """The small tree, laid out anew for each fault."""

    def __init__(self, folder, compiler):
        self.root = os.path.join(folder, "tree")
        self.compiler = compiler
        self.wrong = []

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def lay_out(self):
        shutil.rmtree(self.root, ignore_errors=True)
        for name, text in CLEAN.items():
            self.write(name, text)
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(os.path.join(ROOT, name), self.root)
        self.write("docs/events.md", "one\ntwo\n")
        os.chmod(self.write("build/printer", "#!/bin/sh\nprintf 'one\\ntwo\\n'\n"), 0o700)
        self.write("build/meson-info/intro-targets.json", "[]")
        source = os.path.join(self.root, "src/run/run.c")
        self.write("build/compile_commands.json", json.dumps([{
            "directory": self.root, "file": source,
            "command": f"cc -Isrc -D_GNU_SOURCE -ftrivial-auto-var-init=zero -o run.o -c {source}"}]))

    def plant(self, name, change):
        if name == "build/needed": # any dynamic program under the name of the static one
            self.write("build/meson-info/intro-targets.json", json.dumps([{
                "name": "hemra-init", "filename": [os.path.realpath("/bin/sh")], "installed": True, "type": "executable"}]))
            return
        path = os.path.join(self.root, name)
        text = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
        if isinstance(change, tuple):
            assert change[0] in text
            self.write(name, text.replace(change[0], change[1], 1))
        else:
            self.write(name, text + change + "\n")

    def run(self, lint):
        words = {"headers": ["--cc", self.compiler], "tidy": ["--build", "build"], "needed": ["--build", "build"],
                 "events": ["--program", "build/printer"]}.get(lint, [])
        result = subprocess.run([sys.executable, "-B", os.path.join(HERE, f"{lint}.py"), "--root", self.root, *words],
                                cwd=self.root, text=True, capture_output=True, check=False)
        return result.returncode, result.stdout + result.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    folder = tempfile.mkdtemp(prefix="hemra-lint-")
    bench = Bench(folder, parser.parse_args().cc)
    skipped = set()
    wrong = []
    try:
        for lint in sorted({fault[0] for fault in FAULTS}):
            bench.lay_out()
            status, said = bench.run(lint)
            if status == SKIP and not (lint == "needed" and "no program is built" in said):
                print(f"{lint}: skipped: {said.strip()}")
                skipped.add(lint)
            elif status not in (0, SKIP):
                wrong.append(f"{lint}: finds faults where there are none:\n{said}")
        for lint, name, change in FINE:
            bench.lay_out()
            bench.plant(name, change)
            status, said = bench.run(lint)
            if status != 0 and lint not in skipped:
                wrong.append(f"{lint}: {change.strip()!r} is no fault:\n{said}")
        for lint, name, change, reason in FAULTS:
            bench.lay_out()
            bench.plant(name, change)
            status, said = bench.run(lint)
            if lint in skipped:
                continue
            if status != 1 or not re.search(reason, said):
                wrong.append(f"{lint}: status {status}, and not /{reason}/:\n{said}")
    finally:
        shutil.rmtree(folder)
    for line in wrong:
        print(line)
    print(f"{len(FAULTS)} faults planted, {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
