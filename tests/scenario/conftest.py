# SPDX-License-Identifier: Apache-2.0
"""What every scenario test stands on: the real binary, a place of its own, and a look at what is left.

Every test that asks for `hemra` runs twice, as root and as an ordinary user (or once, as whoever
runs it). It gets an empty home, store and working directory in a temporary folder. After the test
there must be no process, mount, control group, socket or temporary file left of it.
"""

import pytest

import house


@pytest.fixture(scope="session")
def place():
    """A folder that every user may read: the binary and the agents lie there."""
    with house.Place() as made:
        yield made


@pytest.fixture(params=["root", "user"])
def who(request):
    if not house.can_be(request.param):
        pytest.skip(f"cannot become {request.param} here")
    return request.param


def checked(place, who):
    """hemra as somebody, and after the test a look at what it left."""
    before = house.Leftovers()
    with house.Hemra(place, who) as made:
        yield made
        made.stop_all()
        left = before.since(made)
    assert not left, "left behind: " + "; ".join(left)


@pytest.fixture
def hemra(place, who):
    yield from checked(place, who)


@pytest.fixture
def as_root(place):
    """For tests that need root and nothing of an ordinary user's."""
    if not house.can_be("root"):
        pytest.skip("needs root")
    yield from checked(place, "root")


@pytest.fixture
def as_user(place):
    """For tests of what root may and others may not."""
    yield from checked(place, "user")
