# SPDX-License-Identifier: Apache-2.0
"""One harness with many ways to behave: play.py PART [WORD…]. Each part is a function below.

Parts write their bytes themselves where the bytes are what is tested.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

MIB = 1 << 20


def put(data):
    """Writes bytes to standard output, all of them."""
    data = data.encode() if isinstance(data, str) else data
    while data:
        data = data[os.write(1, data):]


def line(**message):
    put(json.dumps(message) + "\n")


def hear(wanted):
    for text in sys.stdin:
        message = json.loads(text)
        if message["type"] == wanted:
            return message
    raise SystemExit(7)


def hello():
    hear("hello")
    line(type="ready", protocol="hemra/1", harness={"name": "play", "version": "1"},
         capabilities={"cancel": True})
    return hear("run.start")


def result(status="completed", **more):
    line(type="result", status=status, final_message="played", **more)


def event(seq=1, kind="message", **more):
    line(type="event", seq=seq, kind=kind, **more)


# ---- in order -----------------------------------------------------------------------------------


def ok():
    """Does what a task of one file asks for."""
    start = hello()
    event(1, text="working")
    with open(os.path.join(start["paths"]["workspace"], "made.txt"), "w", encoding="ascii") as file:
        file.write("made\n")
    event(2, "usage", input=10, output=5, cost_usd=0.25)
    result(usage={"input": 10, "output": 5, "cost_usd": 0.25})


def check():
    """Does what `hemra harness check` asks: makes a file, or waits to be told to stop."""
    start = hello()
    if "Wait" in start["task"]["instruction"]:
        hear("run.cancel")
        result("cancelled")
        return
    with open(os.path.join(start["paths"]["workspace"], "hello.txt"), "w", encoding="ascii") as file:
        file.write("hemra check\n")
    result()


def status(word):
    hello()
    result(word)


def shell(command):
    """Runs a command of the test's; its output becomes an event, its status the result."""
    hello()
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    event(1, text=done.stdout.decode(errors="replace"), status=done.returncode)
    result("completed" if done.returncode == 0 else "error")


def python(code):
    """Runs Python of the test's after the handshake, with this file's names in reach."""
    start = hello()
    exec(code, dict(globals(), start=start))  # pylint: disable=exec-used


def environment():
    """Says everything that it knows of its environment, on every way there is."""
    start = hello()
    text = "\n".join(f"{k}={v}" for k, v in os.environ.items())
    event(1, text=text)
    event(2, "tool.result", id="c", status="ok", text=json.dumps(dict(os.environ)))
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
    with open(os.path.join(start["paths"]["artifacts"], "env.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(start["paths"]["workspace"], "env.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    line(type="artifact", path="env.txt", media_type="text/plain", role="log")
    result(final=text)


def wait(seconds="600"):
    """Runs until it is told to stop, and obeys."""
    hello()
    event(1, text="waiting")
    signal.alarm(int(seconds))
    hear("run.cancel")
    result("cancelled")


# ---- bytes --------------------------------------------------------------------------------------


def line_of(size):
    """One event whose line has exactly this many bytes, the newline included."""
    hello()
    head = '{"type":"event","seq":1,"kind":"log","text":"'
    put(head + "x" * (int(size) - len(head) - 3) + '"}\n')
    result()


def total_of(size):
    """Exactly this many bytes on standard output, from the first to the last."""
    hear("hello")
    ready = json.dumps({"type": "ready", "protocol": "hemra/1",
                        "harness": {"name": "play", "version": "1"}}) + "\n"
    put(ready)
    hear("run.start")
    last = json.dumps({"type": "result", "status": "completed"}) + "\n"
    left = int(size) - len(ready) - len(last)
    seq = 0
    while left:
        seq += 1
        head = '{"type":"event","seq":%d,"kind":"log","text":"' % seq
        want = min(left, MIB // 2 if int(size) > MIB else 1024)
        if 0 < left - want < 200:
            want -= 300
        put(head + "y" * (want - len(head) - 3) + '"}\n')
        left -= want
    put(last)


def flood():
    """Events without end."""
    hello()
    seq = 0
    while True:
        seq += 1
        event(seq, "log", text="z" * 900_000)


def raw(text):
    """After the handshake: these bytes (backslash escapes allowed), then an honest result."""
    hello()
    put(text.encode("latin-1").decode("unicode_escape").encode("latin-1"))
    result()


def raw_only(text):
    """After the handshake: these bytes, then the end."""
    hello()
    put(text.encode("latin-1").decode("unicode_escape").encode("latin-1"))


def depth(levels):
    """An event nested this deep, the event's own braces counted."""
    hello()
    inner = int(levels) - 1
    put('{"type":"event","seq":1,"kind":"log","data":' + "[" * inner + "]" * inner + "}\n")
    result()


def bytewise():
    """A whole session in writes of one byte."""
    hear("hello")
    for text in ({"type": "ready", "protocol": "hemra/1", "harness": {"name": "p", "version": "1"}},
                 {"type": "event", "seq": 1, "kind": "message", "text": "slowly"},
                 {"type": "result", "status": "completed"}):
        for byte in json.dumps(text) + "\n":
            put(byte)
        if text["type"] == "ready":
            hear("run.start")


def at_once():
    """Many lines in one write, split where the lines do not end."""
    hello()
    put("".join(json.dumps({"type": "event", "seq": n, "kind": "message", "text": str(n)}) + "\n"
                for n in range(1, 501)) + '{"type":"result","status":"completed"}\n')


# ---- ends ---------------------------------------------------------------------------------------


def late(seconds):
    """Answers hello after so many seconds."""
    hear("hello")
    time.sleep(float(seconds))
    line(type="ready", protocol="hemra/1", harness={"name": "play", "version": "1"})
    hear("run.start")
    result()


def no_ready():
    hear("hello")


def leave(code):
    """Ends without a result."""
    hello()
    event(1, text="leaving")
    sys.exit(int(code))


def killed():
    hello()
    os.kill(os.getpid(), signal.SIGSEGV)


def mid_line():
    hello()
    event(1, text="before")
    put('{"type":"event","seq":2,"kind":"mess')


def after_result():
    hello()
    result()
    event(1, text="one more thing")
    time.sleep(1)


def two_results():
    hello()
    result()
    result("error")


def lingers():
    hello()
    result()
    time.sleep(600)


def ignores():
    """Neither run.cancel nor SIGTERM moves it; nor its child."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    hello()
    if os.fork() == 0:
        os.setsid()
    event(1, text="ignoring") if os.getsid(0) != os.getpid() else None
    while True:
        time.sleep(1)


def stops():
    """Stops itself."""
    hello()
    event(1, text="stopping")
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(600)


def never_reads():
    """Says things that must be answered and reads no answer."""
    hello()
    number = 0
    while True:
        number += 1
        line(type="no such type", number=number)


def closes_input():
    hello()
    os.close(0)
    event(1, text="deaf")
    result()


def daemon(seconds="600"):
    """A child in a session of its own holds standard output; the harness itself ends in order."""
    hello()
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            end = time.time() + float(seconds)
            while time.time() < end:
                for path in ("/logs/verifier/reward.json", "/workspace/late.txt"):
                    try:
                        with open(path, "w", encoding="ascii") as file:
                            file.write('{"reward": 1.0}')
                    except OSError:
                        pass
                time.sleep(0.01)
        os._exit(0)
    event(1, text="left one behind")
    result()


def memory(size):
    """Takes memory and touches it."""
    hello()
    held = bytearray(int(size))
    for at in range(0, len(held), 4096):
        held[at] = 1
    result()


def forks(count):
    """Starts processes until it cannot; says how many it got."""
    hello()
    got, why = 0, ""
    for _ in range(int(count)):
        try:
            if os.fork() == 0:
                time.sleep(600)
                os._exit(0)
            got += 1
        except OSError as error:
            why = error.strerror
            break
    event(1, text=f"{got} {why}", got=got)
    result()


# ---- artifacts ----------------------------------------------------------------------------------


def artifacts():
    """Hands in good and bad artifacts."""
    start = hello()
    out = start["paths"]["artifacts"]
    with open(out + "/good.txt", "w", encoding="ascii") as file:
        file.write("good\n")
    with open(out + "/undeclared.bin", "wb") as file:
        file.write(bytes(range(256)))
    os.mkdir(out + "/deep")
    with open(out + "/deep/er.txt", "w", encoding="ascii") as file:
        file.write("deeper\n")
    os.symlink("/etc/passwd", out + "/link")
    os.symlink("/etc", out + "/dirlink")
    os.mkfifo(out + "/fifo")
    os.link(out + "/good.txt", out + "/hard")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(out + "/sock")
    for path in ("good.txt", "deep/er.txt", "link", "dirlink/passwd", "fifo", "hard", "sock",
                 "../../etc/passwd", "/etc/passwd", "missing.txt"):
        line(type="artifact", path=path, role="test")
    result()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
