"""Check the live plane of [live]: its extra, its server's version, account and settings."""

from __future__ import annotations

from rightseat.config.settings import Config
from rightseat.doctor.result import CheckResult, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.wiring.planes import AUTO, POSTGRES, VALKEY, check_plane_modules, choose_plane, find_plane_url

WHAT = "live plane"
POLICY_FIX = "set maxmemory-policy noeviction, or one that begins with volatile-"


def uses_live_server(config: Config) -> bool:
    """Tell whether [live] says more than that workers of one machine use their own sockets."""
    return config.live.kind != AUTO or config.live.url is not None or config.store.kind == POSTGRES


async def check_live(config: Config) -> CheckResult:
    """Check the server between the processes, as `serve` will use it."""
    run_folder = "" if config.server.workers == 1 else "of the workers"
    try:
        kind = choose_plane(config, run_folder)
        url = find_plane_url(config, kind)
        check_plane_modules(kind)
        if kind == VALKEY:
            return await check_valkey(url)
        if kind == POSTGRES:
            return await check_postgres(url)
    except ConfigError as error:
        return broken(WHAT, error.message, "change [live] in the configuration")
    return good(WHAT, f"{kind}: no server")


async def check_valkey(url: str) -> CheckResult:
    # Imported here: it needs an extra.
    from rightseat.live.remote import ServerRefused, describe_error
    from rightseat.live.valkey import ValkeyPlane
    from rightseat.live.valkey_server import check_version, find_eviction_problem

    plane = ValkeyPlane(url, "doctor", "doctor")
    try:
        async with await plane.connect() as connection:
            version = await check_version(connection)
            policy = await find_eviction_problem(connection)
        await plane.check_server()
        async with await plane.connect() as connection:
            await connection.run("UNLINK", plane.stream)
    except ServerRefused as error:
        return broken(WHAT, f"Valkey at {plane.address}: {error.reason}", error.advice)
    except plane.connection_errors as error:
        return broken(WHAT, f"Valkey at {plane.address}: {describe_error(error)}", plane.advise(error))
    text = f"{version or 'Valkey'} at {plane.address}"
    if policy:
        return broken(WHAT, f"{text}: maxmemory-policy {policy} removes keys that are in use", POLICY_FIX)
    if policy is None:
        return skipped(WHAT, f"{text} answers, but its account may not ask for maxmemory-policy", POLICY_FIX)
    return good(WHAT, text)


async def check_postgres(url: str) -> CheckResult:
    from rightseat.live.postgres import PostgresPlane
    from rightseat.live.remote import ServerRefused, describe_error

    plane = PostgresPlane(url, "doctor", "doctor")
    try:
        await plane.check_server()
    except ServerRefused as error:
        return broken(WHAT, f"PostgreSQL at {plane.address}: {error.reason}", error.advice)
    except plane.connection_errors as error:
        return broken(WHAT, f"PostgreSQL at {plane.address}: {describe_error(error)}", plane.advise(error))
    return good(WHAT, f"PostgreSQL at {plane.address}, by LISTEN and NOTIFY")
