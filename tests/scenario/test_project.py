# SPDX-License-Identifier: Apache-2.0
"""What ships beside the program: the demo, the AppArmor profile, the set-up script."""

import os
import re
import shutil
import subprocess

import pytest

import house


def test_the_demo_ends_as_it_should(hemra):
    """scripts/demo from a copy of the project's files, with the installed program."""
    for name in ("demo", "scripts"):
        shutil.copytree(f"{house.ROOT}/{name}", f"{hemra.cwd}/{name}")
    os.mkdir(hemra.cwd + "/build")
    hemra.own(hemra.cwd)
    p = hemra.popen([house.PYTHON, "-B", "scripts/demo"], env={"HEMRA": hemra.place.binary},
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    done = hemra.finish(p)
    assert done.status == 0, repr(done)
    assert "NO" not in re.findall(r"\bNO\b|\byes\b", done.out)
    assert done.out.count("  yes  ") >= 16
    for line in done.out.splitlines():
        if re.match(r"\s+(oracle|honest)\s", line):
            assert "completed" in line and " 1 " in line, line
        if re.match(r"\s+hostile\s", line):
            assert " 0 " in line, line
    following = [line.strip() for line in done.out.split("Try next:")[1].splitlines() if line.strip()]
    assert len(following) == 3
    for line in following:
        tried = hemra.finish(hemra.popen(["sh", "-c", line], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, stdin=subprocess.DEVNULL))
        assert tried.status in (0, 1, 2) and "hemra:" not in tried.err, f"{line}\n{tried!r}"


def test_apparmor_profile_parses(place):
    """With the newest features that this parser knows; scripts/prove-host parses it as it is."""
    if not shutil.which("apparmor_parser"):
        pytest.skip("no apparmor_parser")
    with open(house.ROOT + "/data/apparmor/hemra", encoding="utf-8") as file:
        profile = file.read()
    if not os.path.exists("/etc/apparmor.d/abi/4.0"):
        assert "abi <abi/4.0>," in profile and "  userns,\n" in profile
        profile = profile.replace("abi <abi/4.0>,", "abi <abi/3.0>,").replace("  userns,\n", "")
    path = house.write(place.path + "/profile", profile)
    done = subprocess.run(["apparmor_parser", "-Q", "-K", path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    os.unlink(path)
    assert done.returncode == 0, done.stdout


def test_setup_says_nothing_and_asks_nothing_when_all_is_there():
    done = subprocess.run(["sh", house.ROOT + "/scripts/setup", "demo"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "", done.stdout


def test_setup_says_what_it_installs_before_it_does(place):
    """With a dpkg-query that knows nothing and an apt-get that only writes down what it is asked."""
    tools = place.path + "/tools"
    house.write(tools + "/dpkg-query", "#!/bin/sh\nexit 1\n", 0o755)
    house.write(tools + "/apt-get", f"#!/bin/sh\necho \"$@\" >>{tools}/log\n", 0o755)
    house.write(tools + "/sudo", "#!/bin/sh\nexec \"$@\"\n", 0o755)
    done = subprocess.run(["sh", house.ROOT + "/scripts/setup", "demo"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={"PATH": tools + ":/usr/bin:/bin"})
    assert done.returncode == 0, done.stdout
    with open(tools + "/log", encoding="utf-8") as file:
        asked = file.read().splitlines()[-1].split()
    shutil.rmtree(tools)
    packages = [word for word in asked if word not in ("install", "-y", "--no-install-recommends")]
    assert "gcc" in packages and "libsodium-dev" in packages
    for package in packages:
        assert re.search(rf"^  {re.escape(package)} +\S", done.stdout, re.M), package


def test_every_file_of_the_project_has_a_licence_line():
    missing = []
    for base in ("src", "tests", "scripts", "demo/agents"):
        for directory, _, names in os.walk(os.path.join(house.ROOT, base)):
            for name in names:
                path = os.path.join(directory, name)
                if name.endswith((".c", ".h", ".cc", ".py")):
                    with open(path, encoding="utf-8") as file:
                        if "SPDX-License-Identifier: Apache-2.0" not in file.read(400):
                            missing.append(os.path.relpath(path, house.ROOT))
    assert not missing, missing
