# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear sentence that names the place, and nothing has started."""

import os
import subprocess

import pytest

import house

RUN = "harnesses = [\"agent\"]\ntasks = [\"tasks/one\"]\n"

# text of run.toml → words of the message
RUN_FILES = {
    "unknown key": ("harneses = [\"agent\"]\n", ["run.toml:1", "harneses", "harnesses"]),
    "unknown table": (RUN + "[sandbx]\nkind = \"native\"\n", ["run.toml:3", "sandbx", "sandbox"]),
    "syntax": (RUN + "attempts = = 3\n", ["run.toml:3"]),
    "wrong type": (RUN + "attempts = \"3\"\n", ["run.toml:3", "attempts"]),
    "zero attempts": (RUN + "attempts = 0\n", ["run.toml:3", "attempts"]),
    "bad size": (RUN + "[sandbox]\nmemory = \"lots\"\n", ["run.toml:4", "memory", "lots"]),
    "bad time": (RUN + "deadline = \"soon\"\n", ["run.toml:3", "deadline", "soon"]),
    "unknown sandbox": (RUN + "[sandbox]\nkind = \"natve\"\n", ["run.toml:4", "natve"]),
    "docker later": (RUN + "[sandbox]\nkind = \"docker\"\n", ["run.toml:4", "docker", "not built yet"]),
    "image later": (RUN + "[sandbox]\nimage = \"x.tar\"\n", ["run.toml:4", "image", "not built yet"]),
    "network later": (RUN + "[sandbox]\nnetwork = \"allow\"\n", ["run.toml:4", "network", "not built yet"]),
    "hosts later": (RUN + "[allow]\nhosts = [\"a.example\"]\n", ["run.toml:3", "allow", "not built yet"]),
    "decoys later": (RUN + "[tripwire]\ndecoys = \"on\"\n", ["run.toml:3", "tripwire", "not built yet"]),
    "judge later": (RUN + "[[judge]]\nname = \"x\"\n", ["run.toml:3", "judge", "not built yet"]),
    "no harness": ("harnesses = [\"nobody\"]\ntasks = [\"tasks/one\"]\n", ["nobody"]),
    "no task": ("harnesses = [\"agent\"]\ntasks = [\"tasks/none\"]\n", ["tasks/none"]),
    "nothing to do": ("harnesses = []\ntasks = []\n", ["harness"]),
    "mount of nothing": (RUN + "[sandbox]\nmounts = [\"/no/such/place\"]\n", ["/no/such/place"]),
    "twice": (RUN + "attempts = 1\nattempts = 2\n", ["run.toml:4"]),
}


@pytest.mark.parametrize("case", RUN_FILES)
def test_run_file(hemra, case):
    text, words = RUN_FILES[case]
    hemra.harness("agent", "play.py", "ok")
    hemra.task()
    hemra.owned(house.write(hemra.cwd + "/run.toml", text))
    done = hemra.run("run", "run.toml", "--json")
    assert done.status == 2, repr(done)
    error = done.json["error"]
    assert error["kind"] and error["message"]
    said = error["message"] + (error.get("hint") or "")
    for word in words:
        assert word in said, f"'{word}' is not in: {said}"
    assert not hemra.attempts() and error["message"] in done.err


HARNESSES = {
    "no kind": ("name = \"agent\"\ncommand = [\"true\"]\n", ["agent.toml", "kind"]),
    "no command": ("name = \"agent\"\nkind = \"program\"\n", ["agent.toml", "command"]),
    "unknown key": ("name = \"agent\"\nkind = \"program\"\ncomand = [\"true\"]\n",
                    ["agent.toml:3", "comand", "command"]),
    "acp later": ("name = \"agent\"\nkind = \"acp\"\ncommand = [\"true\"]\n", ["acp", "not built yet"]),
    "driver later": ("name = \"agent\"\nkind = \"driver\"\ncommand = [\"true\"]\n",
                     ["driver", "not built yet"]),
    "gateway later": ("name = \"agent\"\nkind = \"program\"\ncommand = [\"true\"]\n[gateway]\n"
                      "api = \"anthropic\"\n", ["gateway", "not built yet"]),
    "mcp later": ("name = \"agent\"\nkind = \"program\"\ncommand = [\"true\"]\n[[mcp]]\nname = \"f\"\n",
                  ["mcp", "not built yet"]),
    "missing program": ("name = \"agent\"\nkind = \"program\"\ncommand = [\"no-such-program-xyz\"]\n",
                        ["no-such-program-xyz"]),
}


@pytest.mark.parametrize("case", HARNESSES)
def test_harness_file(hemra, case):
    text, words = HARNESSES[case]
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"])
    hemra.owned(house.write(hemra.cwd + "/harnesses/agent.toml", text))
    done = hemra.run("run", "run.toml", "--json")
    if case == "missing program" and "attempts" in done.json:
        row = done.json["attempts"][0]
        assert row["outcome"] == "infra:setup" and done.status == 3, repr(done)
        said = row["reason"]
    else:
        assert done.status == 2, repr(done)
        said = done.json["error"]["message"] + (done.json["error"].get("hint") or "")
    for word in words:
        assert word in said, f"'{word}' is not in: {said}"


TASKS = {
    "no task.toml": (lambda t: os.unlink(t + "/task.toml"), ["task.toml"]),
    "no instruction": (lambda t: os.unlink(t + "/instruction.md"), ["instruction.md"]),
    "no tests": (lambda t: os.unlink(t + "/tests/test.sh"), ["test.sh"]),
    "dockerfile": (lambda t: house.write(t + "/environment/Dockerfile", "FROM x\n"), ["Dockerfile"]),
    "image": (lambda t: house.write(t + "/task.toml", "[environment]\ndocker_image = \"x\"\n"),
              ["task.toml:2", "docker_image"]),
    "gpus": (lambda t: house.write(t + "/task.toml", "[environment]\ngpus = 1\n"), ["task.toml:2", "gpus"]),
    "windows": (lambda t: house.write(t + "/task.toml", "[environment]\nos = \"windows\"\n"),
                ["task.toml:2", "windows"]),
    "steps": (lambda t: house.write(t + "/task.toml", "[[steps]]\nname = \"a\"\n"), ["task.toml", "steps"]),
    "syntax": (lambda t: house.write(t + "/task.toml", "[environment\n"), ["task.toml:1"]),
}


@pytest.mark.parametrize("case", TASKS)
def test_task(hemra, case):
    spoil, words = TASKS[case]
    hemra.harness("agent", "play.py", "ok")
    task = hemra.task()
    spoil(task)
    hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "run.toml", "--json")
    assert done.status == 2, repr(done)
    said = done.json["error"]["message"] + (done.json["error"].get("hint") or "")
    for word in words:
        assert word in said, f"'{word}' is not in: {said}"
    assert not hemra.attempts()


def test_unknown_key_of_a_task_is_a_warning(hemra):
    hemra.harness("agent", "play.py", "ok")
    hemra.task(extra="colour = \"blue\"\n")
    hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "run.toml")
    assert done.status == 0 and "colour" in done.err, repr(done)


def test_unreadable_task(as_user):
    hemra = as_user
    hemra.harness("agent", "play.py", "ok")
    task = hemra.task()
    os.chmod(task + "/instruction.md", 0)
    hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "run.toml")
    assert done.status == 2 and "instruction.md" in done.err and "Permission denied" in done.err


FLAGS = [
    (["run", "--atempts", "3", "run.toml"], 2, ["--atempts", "--attempts"]),
    (["rn"], 2, ["rn", "run"]),
    (["exec"], 125, ["exec"]),
    (["exec", "--memory", "much", "--", "true"], 125, ["memory", "much"]),
    (["exec", "--allow-host", "x.example", "--", "true"], 125, ["--allow-host", "not built yet"]),
    (["exec", "--sandbox", "docker", "--", "true"], 125, ["docker", "not built yet"]),
    (["serve"], 2, ["serve", "not built yet"]),
    (["compare", "a", "b"], 2, ["compare", "not built yet"]),
    (["run", "nowhere.toml"], 2, ["nowhere.toml"]),
    (["show"], 2, ["show"]),
    (["show", "01jxnothing"], 2, []),
    (["exec", "--require", "magic", "--", "true"], 125, ["magic"]),
    (["exec", "--weaker", "everything", "--", "true"], 125, ["everything"]),
]


@pytest.mark.parametrize("words,status,said", FLAGS, ids=[" ".join(f[0])[:40] for f in FLAGS])
def test_flags(hemra, words, status, said):
    done = hemra.run(*words)
    assert done.status == status, repr(done)
    for word in said:
        assert word in done.err, repr(done)
    assert len(done.err.strip().splitlines()) <= 4, repr(done)


def test_require_what_is_not_offered_is_exit_4_and_records_nothing(hemra):
    hemra.harness("agent", "play.py", "ok", local=True)
    hemra.task()
    hemra.run_file(["agent"], ["tasks/one"])
    done = hemra.run("run", "run.toml", "--sandbox", "local", "--require", "network_block")
    assert done.status == 4, repr(done)
    assert "network_block" in done.err and not hemra.attempts()
    hemra.harness("agent", "play.py", "ok")
    good = hemra.run("run", "run.toml", "--require", "network_block")
    assert good.status == 0, repr(good)


def test_without_user_namespaces_the_remedy_is_named(hemra):
    """A namespace whose own limit is 0 stands for a machine that forbids them."""
    inside = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\""
    p = hemra.popen(["unshare", "--user", "--map-root-user", "sh", "-c", inside, "sh",
                     hemra.place.binary, "exec", "--", "true"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done = hemra.finish(p)
    assert done.status == 125, repr(done)
    assert "max_user_namespaces" in done.err, repr(done)


def test_failure_as_json_is_one_object_and_the_sentence_also_on_stderr(hemra):
    done = hemra.run("verify", "--json")
    assert done.status == 2, repr(done)
    assert set(done.json) == {"error"} and set(done.json["error"]) == {"kind", "message", "hint"}
    assert done.err.strip()
