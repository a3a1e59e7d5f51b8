"""Prints the share of right answers: check.py SUMMARY EXPECTED. Remarks go to stderr."""

import json
import os
import stat
import sys


def read(path):
    """Reads a small regular file of the agent's; nothing else is opened."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a regular file")
        return json.loads(file.read(1 << 20))


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = json.load(file)
    try:
        summary = read(sys.argv[1])
    except (OSError, ValueError) as error:
        print(f"summary.json: {error}", file=sys.stderr)
        summary = {}
    right = 0
    for key, value in expected.items():
        said = summary.get(key) if isinstance(summary, dict) else None
        if said == value and type(said) is type(value):
            right += 1
        else:
            print(f"{key}: wrong", file=sys.stderr)
    print(right / len(expected))


main()
