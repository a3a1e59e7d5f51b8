# SPDX-License-Identifier: Apache-2.0
"""The record's chain, written a second time from docs/record.md, to check hemra's and to forge with."""

import hashlib


def genesis(attempt, manifest):
    """h(0): SHA-256 of 26 bytes of id and 32 raw bytes of the manifest's digest."""
    return hashlib.sha256(attempt.encode() + bytes.fromhex(manifest)).digest()


def split(line):
    """A line's bytes before `,"h":` and the 16 hex digits it carries."""
    body, mark, rest = line.rpartition(b',"h":"')
    assert mark and rest.endswith(b'"}') and len(rest) == 18, line[-60:]
    return body, rest[:16].decode()


def step(previous, body):
    return hashlib.sha256(previous + body).digest()


def check(lines, attempt, manifest):
    """Recomputes a chain; returns its head. Asserts that every line carries its hash."""
    head = genesis(attempt, manifest)
    for line in lines:
        body, said = split(line)
        head = step(head, body)
        assert said == head.hex()[:16], line[:100]
    return head


def rechain(bodies, attempt, manifest):
    """Lines with right hashes for these bodies: what somebody without the key can forge."""
    head, lines = genesis(attempt, manifest), []
    for body in bodies:
        head = step(head, body)
        lines.append(body + b',"h":"' + head.hex()[:16].encode() + b'"}')
    return lines
