# SPDX-License-Identifier: Apache-2.0
"""A real third-party source package, configured, built and tested inside `hemra exec`."""

import glob
import os
import shutil
import subprocess

import pytest

import house


def fetch(folder, package):
    """Fetches a Debian source with lists of its own; the system's apt is not touched."""
    form = "$(REPO_URI) $(CODENAME) $(COMPONENT) $(SIGNED_BY)"
    targets = subprocess.run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    main = [t.split(" ", 3) for t in targets if " main " in t + " " and "debian" in t or "ubuntu" in t]
    assert main, "apt knows no repository of the distribution"
    uri, codename, component = main[0][:3]
    signed = f"[signed-by={main[0][3]}] " if len(main[0]) > 3 and main[0][3].startswith("/") else ""
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    house.write(folder + "/sources.list", f"deb-src {signed}{uri} {codename} {component}\n")
    options = ["-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o", "Dir::Etc::sourceparts=-",
               "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache",
               "-o", "APT::Sandbox::User=root"]
    for words in (["update"], ["source", "--download-only", package]):
        subprocess.run(["apt-get", "-q", *options, *words], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
    dsc = glob.glob(folder + "/*.dsc")[0]
    subprocess.run(["dpkg-source", "--no-check", "-x", dsc, folder + "/source"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder + "/source"


@pytest.fixture(scope="session")
def hello(tmp_path_factory):
    return fetch(str(tmp_path_factory.mktemp("hello")), "hello")


def test_hello_is_configured_built_and_tested_in_a_box(hello, hemra):
    source = shutil.copytree(hello, hemra.cwd + "/hello", symlinks=True)
    hemra.own(hemra.cwd)
    script = "./configure --quiet && make -j2 && make check && ./hello"
    done = hemra.run("exec", "--", "sh", "-c", script, cwd=source, seconds=600)
    assert done.status == 0, repr(done)
    assert done.out.strip().endswith("Hello, world!")
    assert "# FAIL:  0" in done.out and "# PASS:" in done.out
    assert os.stat(source + "/hello").st_uid == hemra.uid
