# SPDX-License-Identifier: Apache-2.0
"""The harness's side of hemra/1: JSON objects, one per line, on standard input and output.

Format: docs/protocol.md. This is all that an agent needs: read `hello`, answer `ready`, read
`run.start`, send events while working, send one `result`, exit.
"""

import json
import sys


class Session:
    """One attempt. `start` is the run.start message: task, paths, deadline."""

    def __init__(self, name, version):
        self.seq = 0
        self.calls = 0
        self.hello = self.receive("hello")
        self.send(
            type="ready",
            protocol="hemra/1",
            harness={"name": name, "version": version},
            capabilities={"cancel": False, "steps": False, "usage": True},
        )
        self.start = self.receive("run.start")

    def receive(self, wanted):
        """Waits for a message of one type; others are passed over."""
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("type") == wanted:
                return message
        raise SystemExit(f"standard input ended before {wanted}")

    def send(self, **message):
        sys.stdout.write(json.dumps(message, ensure_ascii=True) + "\n")
        sys.stdout.flush()

    def event(self, kind, **fields):
        self.seq += 1
        self.send(type="event", seq=self.seq, kind=kind, **fields)

    def message(self, text):
        self.event("message", role="assistant", text=text)

    def call(self, name, args):
        """Tells that a tool is about to be used; returns the id for result()."""
        self.calls += 1
        call_id = f"c{self.calls}"
        self.event("tool.call", id=call_id, name=name, args=args)
        return call_id

    def result(self, call_id, ok, text, **fields):
        cut = text[:4000]
        self.event("tool.result", id=call_id, status="ok" if ok else "error", text=cut,
                   truncated=len(cut) < len(text), **fields)

    def artifact(self, path, media_type, role):
        self.send(type="artifact", path=path, media_type=media_type, role=role)

    def finish(self, status, final_message, **fields):
        self.send(type="result", status=status, final_message=final_message, **fields)
