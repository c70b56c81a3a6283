"""What each real client saw, once per client and session."""

import asyncio
from collections.abc import Callable

import pytest

from tests.peers import rig
from tests.peers.install import InstallError, install


@pytest.fixture(scope="session")
def watch(driven: Callable[[str, str], None]) -> Callable[[str, tuple[str, ...]], rig.Seen]:
    """Drives a client through its cases on the first call, and only then."""
    known: dict[str, rig.Seen] = {}

    def seen(name: str, cases: tuple[str, ...]) -> rig.Seen:
        if name not in known:
            try:
                install(name)
            except InstallError as error:
                # `make test` is red all the same: it counts the clients that were driven.
                pytest.skip(f"could not install {name}: {error}")
            known[name] = asyncio.run(rig.see(name, cases))
            driven(name, known[name].version)
        return known[name]

    return seen
