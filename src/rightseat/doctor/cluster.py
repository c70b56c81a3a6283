"""Check what replicas share: the database's version, account and clock, who is alive, and whether each is heard.

Nothing is changed. A replica is asked over the live plane, as replicas ask each other.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rightseat.config.digest import compute_config_digest
from rightseat.config.settings import Config
from rightseat.doctor.result import CheckResult, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.types.live import PING, PONG, ControlMessage
from rightseat.wiring.planes import choose_plane, make_plane
from rightseat.wiring.storage import POSTGRES, read_database_url

if TYPE_CHECKING:
    import psycopg

    from rightseat.stores.postgres.presence import ReplicaInfo
    from rightseat.stores.postgres.refusals import Obstacle

MIN_SERVER_VERSION = 13
MAX_SKEW_SECONDS = 1.0
ECHO_SECONDS = 5.0
"""Time in which a replica must answer."""
DATABASE, CLOCK, ACCOUNT, REPLICAS = "database", "database, clock", "database, account", "replicas"
ROWS = "database, row security"
ENDED = "replicas, ended"
START_FIX = "start one: rightseat serve"
ECHO_FIX = (
    "give all replicas the same [live] and let them reach its server; if its event loop is blocked, `/health` of it is "
    "silent too: look at its log, and restart it"
)
CONFIG_FIX = "after a roll-out of the configuration restart the others, or send them SIGHUP"


def uses_cluster(config: Config) -> bool:
    return config.store.kind == POSTGRES


async def check_cluster(config: Config) -> AsyncIterator[CheckResult]:
    """Check the database that replicas share, and the replicas."""
    try:
        # Imported here: it needs an extra.
        from rightseat.stores.postgres.database import connect

        connection = await asyncio.to_thread(connect, read_database_url(config))
    except ConfigError:
        # The line of the store says why.
        return
    import psycopg

    with closing(connection):
        yield check_version(connection)
        yield check_clock(connection)
        try:
            account = check_account(connection, config)
            yield account
            if account.state == "broken":
                return
            if config.store.row_security:
                yield check_protection(connection, config)
            replicas = list_known_replicas(connection, config)
        except psycopg.Error as error:
            text = (error.diag.message_primary or str(error)).splitlines()[0]
            yield broken(ACCOUNT, text, "look at the log of PostgreSQL")
            return
    for line in await check_replicas(config, replicas):
        yield line


def check_version(connection: psycopg.Connection[Any]) -> CheckResult:
    number = connection.info.server_version
    text = f"PostgreSQL {number // 10000}.{number % 10000}"
    if number // 10000 < MIN_SERVER_VERSION:
        return broken(DATABASE, f"{text} is too old", f"install PostgreSQL {MIN_SERVER_VERSION} or newer")
    return good(DATABASE, text)


def check_clock(connection: psycopg.Connection[Any]) -> CheckResult:
    from rightseat.stores.postgres.transfer import read_clock_offset

    ahead = read_clock_offset(connection)
    if abs(ahead) <= MAX_SKEW_SECONDS:
        return good(CLOCK, f"{abs(ahead) * 1000:.0f} ms apart from this machine's")
    direction = "ahead of" if ahead > 0 else "behind"
    why = f"{abs(ahead):.1f} s {direction} this machine's. Times are the database's, so that only logs do not fit"
    return skipped(CLOCK, why, "set the clocks of all machines by NTP, so that their logs can be compared")


def check_account(connection: psycopg.Connection[Any], config: Config) -> CheckResult:
    """Check the rights of the account on the schema and its tables."""
    from rightseat.stores.postgres import refusals

    schema = config.store.schema
    obstacle = refusals.find_missing_right(connection, schema) or find_migration_obstacle(connection, schema)
    if obstacle is None and not config.live.deployment:
        obstacle = refusals.find_missing_identity(connection, schema)
    if obstacle is not None:
        return broken(ACCOUNT, obstacle.why, obstacle.fix)
    state = refusals.read_state(connection, schema)
    if not state.has_schema:
        return good(ACCOUNT, f"{state.user} may make the schema {schema}")
    return good(ACCOUNT, f"{state.user} has all rights on {schema}")


def find_migration_obstacle(connection: psycopg.Connection[Any], schema: str) -> Obstacle | None:
    """Find what keeps the account from bringing older tables to this version."""
    from rightseat.stores.postgres.refusals import find_missing_ownership
    from rightseat.stores.postgres.schema import MIGRATIONS, read_version

    is_older = 0 < read_version(connection, schema) < len(MIGRATIONS)
    return find_missing_ownership(connection, schema) if is_older else None


def check_protection(connection: psycopg.Connection[Any], config: Config) -> CheckResult:
    """Check that the tables have row security, and that it holds for this account."""
    from rightseat.stores.postgres.row_security import find_bypassing_account, is_protected

    if account := find_bypassing_account(connection):
        why = f"{account} may bypass it, as superusers may"
        return broken(ROWS, why, "name an account without SUPERUSER and BYPASSRLS in [store] url")
    if not is_protected(connection, config.store.schema):
        why = "the servers are ready for it, the tables do not have it yet"
        return skipped(ROWS, why, "run `rightseat store protect` when every server has row_security = true")
    return good(ROWS, f"statements see the rows of their owner only, in {config.store.schema}")


def list_known_replicas(connection: psycopg.Connection[Any], config: Config) -> list[ReplicaInfo]:
    from rightseat.stores.postgres.presence import list_replicas
    from rightseat.stores.postgres.schema import has_table

    schema = config.store.schema
    return list_replicas(connection, schema) if has_table(connection, schema, "replicas") else []


async def check_replicas(config: Config, replicas: Sequence[ReplicaInfo]) -> list[CheckResult]:
    """Ask each replica that is alive for an answer, and report all of them."""
    alive = [replica for replica in replicas if replica.is_alive]
    if not alive:
        return [skipped(REPLICAS, "none is running", START_FIX), *describe_ended(replicas)]
    try:
        echoes = await ping_replicas(config, [replica.worker for replica in alive])
    except ConfigError as error:
        return [broken(REPLICAS, error.message, "correct [live]")]
    plane = choose_plane(config, "")
    lines = [good(REPLICAS, f"{len(alive)} running, {len(echoes)} answered over the plane {plane}")]
    lines += [describe_replica(replica, echoes, plane) for replica in alive]
    lines += describe_ended(replicas)
    lines += compare_versions(alive)
    lines += compare_configs(config, {replica.address: echoes.get(replica.worker) for replica in alive})
    return lines


class Echo:
    """Answer of a replica."""

    def __init__(self, seconds: float, config: str) -> None:
        self.seconds = seconds
        self.config = config


async def ping_replicas(config: Config, workers: Sequence[str]) -> dict[str, Echo]:
    """Send a message to each worker and return the answers that come in time."""
    plane = make_plane(config, f"doctor-{secrets.token_hex(8)}", "")
    nonce, sent, echoes = secrets.token_hex(8), time.monotonic(), dict[str, Echo]()
    is_complete = asyncio.Event()

    def on_pong(message: ControlMessage) -> None:
        if message.run == nonce and message.sender in workers:
            body = message.body if isinstance(message.body, dict) else {}
            echoes[message.sender] = Echo(time.monotonic() - sent, str(body.get("config", "")))
            if len(echoes) == len(workers):
                is_complete.set()

    plane.handle(PONG, on_pong)
    await plane.open()
    try:
        sent = time.monotonic()
        for worker in workers:
            await plane.send(worker, ControlMessage(PING, run=nonce))
        try:
            async with asyncio.timeout(ECHO_SECONDS):
                await is_complete.wait()
        except TimeoutError:
            pass
    finally:
        await plane.close()
    return echoes


def describe_replica(replica: ReplicaInfo, echoes: dict[str, Echo], plane: str) -> CheckResult:
    what = f"replica {replica.address}"
    text = f"rightseat {replica.version}, last beat {replica.beat_age:.1f} s ago"
    echo = echoes.get(replica.worker)
    if echo is None:
        return broken(what, f"{text}, but no answer over the plane {plane} in {ECHO_SECONDS:g} s", ECHO_FIX)
    return good(what, f"{text}, answered after {echo.seconds * 1000:.0f} ms")


def describe_ended(replicas: Sequence[ReplicaInfo]) -> Iterator[CheckResult]:
    """Describe in one line those that ended without a word: the newest of them, and how many there are."""
    ended = sorted((replica for replica in replicas if not replica.is_alive), key=lambda replica: replica.beat_age)
    if ended:
        last = f"the last one was {ended[0].address}, last beat {ended[0].beat_age:.0f} s ago"
        why = f"{len(ended)} ended without a word; {last}"
        yield skipped(ENDED, why, "look at its log; its runs, if it had any, are taken over by the others")


def compare_versions(replicas: Sequence[ReplicaInfo]) -> Iterator[CheckResult]:
    by_version: dict[str, list[str]] = defaultdict(list)
    for replica in replicas:
        by_version[replica.version].append(replica.address)
    if len(by_version) > 1:
        text = "; ".join(f"{version}: {', '.join(names)}" for version, names in sorted(by_version.items()))
        yield skipped("replicas, versions", f"they differ: {text}", "finish the roll-out")


def compare_configs(config: Config, echoes: dict[str, Echo | None]) -> Iterator[CheckResult]:
    """Compare the configurations of replicas with each other and with the one of this machine."""
    by_digest: dict[str, list[str]] = defaultdict(list)
    for address, echo in echoes.items():
        if echo is not None and echo.config:
            by_digest[echo.config].append(address)
    what, own = "replicas, configuration", compute_config_digest(config)
    if len(by_digest) > 1:
        text = "; ".join(f"{digest}: {', '.join(names)}" for digest, names in sorted(by_digest.items()))
        yield skipped(what, f"they differ: {text}; here: {own}", CONFIG_FIX)
    elif by_digest and own not in by_digest:
        yield skipped(what, f"all have {next(iter(by_digest))}, and the one checked here is {own}", CONFIG_FIX)
    elif by_digest:
        yield good(what, f"all have {own}, as here")
