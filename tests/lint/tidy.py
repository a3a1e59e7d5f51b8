#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy with the .clang-tidy of the project over every file of src/ that the build compiles.

A file that was clean is not looked at again until it, a header that it includes, its command or
.clang-tidy changes: the digest of all of them is kept in the build directory."""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess

import lint

FILE_SECONDS = 180


# What only gcc or only newer compilers know; warnings are the compilers' own business.
FOREIGN = re.compile(r"-W(?!p,|l,)|-ftrivial-auto-var-init|-fstrict-flex-arrays|-fsanitize|-fdiagnostics")


def commands(build, cache):
    """What the build compiles, as {source: command}, and the same as a database for clang-tidy."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        database = json.load(file)
    for command in database:
        words = [w for w in shlex.split(command["command"]) if not FOREIGN.match(w)]
        command["command"] = shlex.join(["clang", *words[1:]])
    with open(os.path.join(cache, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(database, file)
    return {os.path.realpath(os.path.join(c["directory"], c["file"])): c for c in database}


def digest(command, config):
    """Of everything that clang-tidy's answer depends on, None when the file does not compile."""
    words = shlex.split(command["command"])
    out = words.index("-o")
    del words[out:out + 2]
    for flag in ("-MD", "-c"):
        if flag in words:
            words.remove(flag)
    for flag in ("-MQ", "-MF"):
        if flag in words:
            at = words.index(flag)
            del words[at:at + 2]
    text = subprocess.run([*words, "-E"], cwd=command["directory"], capture_output=True, check=False)
    if text.returncode != 0:
        return None
    return hashlib.sha256(config + command["command"].encode() + text.stdout).hexdigest()


def check(program, tree, cache, path, command, config):
    """The lines of clang-tidy that are faults."""
    key = digest(command, config)
    mark = os.path.join(cache, key) if key else None
    if mark and os.path.exists(mark):
        return []
    try:
        result = subprocess.run([program, "-p", cache, "--quiet", path], cwd=tree.root, text=True,
                                capture_output=True, check=False, timeout=FILE_SECONDS)
    except subprocess.TimeoutExpired:
        return [f"{os.path.relpath(path, tree.root)}:1: clang-tidy took longer than {FILE_SECONDS} s"]
    wrong = [line for line in result.stdout.splitlines() if re.search(r": (error|warning): ", line)]
    if result.returncode != 0 and not wrong:
        wrong = [f"{os.path.relpath(path, tree.root)}:1: {result.stderr.strip()}"]
    if not wrong and mark:
        with open(mark, "w", encoding="utf-8"):
            pass
    return [relative(tree, command, line) for line in wrong]


def relative(tree, command, line):
    """`path:line:column: error: text` as `path below the root:line: text`."""
    found = re.match(r"(.+?):(\d+):\d+: (?:error|warning): (.*)", line)
    if found is None:
        return line
    path = os.path.realpath(os.path.join(command["directory"], found[1]))
    return f"{os.path.relpath(path, tree.root)}:{found[2]}: {found[3]}"


def main():
    tree, options = lint.arguments("build", default="build")
    program = lint.need("clang-tidy", 14)
    lint.need("clang")
    build = os.path.abspath(options.build)
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        lint.skip(f"{build} is not a build directory")
    cache = os.path.join(build, "lint-tidy")
    os.makedirs(cache, exist_ok=True)
    config = tree.read(".clang-tidy").encode()
    wanted = {tree.path(n) for n in tree.sources(".c", under=("src/",))}
    todo = sorted((p, c) for p, c in commands(build, cache).items() if p in wanted)
    faults = lint.Faults()
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        jobs = [pool.submit(check, program, tree, cache, p, c, config) for p, c in todo]
        for job in jobs:
            for line in job.result():
                if line not in seen: # of a header, once for each file that includes it
                    seen.add(line)
                    print(line, flush=True)
                    faults.count += 1
    faults.end(len(todo), "files")


main()
