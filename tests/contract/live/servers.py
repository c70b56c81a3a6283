"""Planes over a server, each with a port in front of it that can fail."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass

from rightseat.live.remote import RemotePlane
from tests.kit import postgres, valkey
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.valkey import ValkeyServer


@dataclass
class ServedPlanes:
    """One server, a relay in front of it, and planes of workers that reach it by the relay."""

    relay: FaultyRelay
    make: Callable[[str], RemotePlane]
    make_elsewhere: Callable[[str], RemotePlane]
    """The same of another deployment."""
    restart: Callable[[], None] | None = None
    """Ends the server and starts it again, empty."""


@asynccontextmanager
async def serve_valkey(is_own: bool) -> AsyncIterator[ServedPlanes]:
    from rightseat.live.valkey import ValkeyPlane

    with ExitStack() as stack:
        running = stack.enter_context(ValkeyServer()) if is_own else valkey.share_server()
        deployments = uuid.uuid4().hex, uuid.uuid4().hex
        async with FaultyRelay(running.port) as relay:
            url = f"redis://127.0.0.1:{relay.port}"
            yield ServedPlanes(
                relay,
                lambda worker: ValkeyPlane(url, worker, deployments[0]),
                lambda worker: ValkeyPlane(url, worker, deployments[1]),
                running.restart if is_own else None,
            )


@asynccontextmanager
async def serve_postgres(is_own: bool) -> AsyncIterator[ServedPlanes]:
    from rightseat.live.postgres import PostgresPlane

    with ExitStack() as stack:
        if is_own:
            running = stack.enter_context(postgres.run_server(postgres.require_programs()))
        else:
            running = postgres.get_session_server()

        def restart() -> None:
            running.stop()
            running.start()

        deployments = uuid.uuid4().hex, uuid.uuid4().hex
        async with FaultyRelay(running.home / ".s.PGSQL.5432") as relay:
            url = f"postgresql://postgres@127.0.0.1:{relay.port}/postgres"
            yield ServedPlanes(
                relay,
                lambda worker: PostgresPlane(url, worker, deployments[0]),
                lambda worker: PostgresPlane(url, worker, deployments[1]),
                restart if is_own else None,
            )


SERVERS: dict[str, Callable[[bool], AbstractAsyncContextManager[ServedPlanes]]] = {
    "postgres": serve_postgres,
    "valkey": serve_valkey,
}
"""Each takes whether the test needs a server of its own, which it may restart."""
