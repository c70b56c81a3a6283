"""`rightseat doctor`: runs the checks in order and prints each line as soon as it is known."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import typer

from rightseat import wiring as registry
from rightseat.cli import log
from rightseat.config import Config
from rightseat.config.secret import Secret, is_reference, resolve
from rightseat.doctor import browser, doors, local, server, setup, store, upstream
from rightseat.doctor import openbb as agents
from rightseat.doctor.client import Client, Unreachable
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.server import listen
from rightseat.types.streams import closing


def doctor(url: str | None, key: str | None, path: Path | None, *, as_json: bool) -> int:
    """Check the set-up and the server; returns the exit code: 1 when something is broken."""
    prepare()
    return verdict(asyncio.run(report(url, secret(key), path, quiet=as_json)), as_json=as_json)


def openbb(url: str, headers: Sequence[str], *, as_json: bool) -> int:
    """Check any OpenBB agent server; returns the exit code."""
    prepare()
    given = dict(map(header, headers))
    return verdict(asyncio.run(shown(agents.examine(url, given), quiet=as_json)), as_json=as_json)


def prepare() -> None:
    log.configure("console", "warning")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without ✓ must not end the checks.
        sys.stdout.reconfigure(errors="replace")


def verdict(lines: list[Line], *, as_json: bool) -> int:
    bad = sum(line.state == "broken" for line in lines)
    if as_json:
        typer.echo(json.dumps({"ok": not bad, "lines": [line.plain() for line in lines]}, indent=2))
    else:
        typer.echo(f"\n{bad} broken. Each line above says what to do." if bad else "\nAll is well.")
    return 1 if bad else 0


def header(given: str) -> tuple[str, str]:
    """Parse `NAME: VALUE`; the value may be a reference to a secret."""
    name, colon, value = (part.strip() for part in given.partition(":"))
    if not (name and colon and value):
        raise ConfigError(f"--header {name or '…'}: write it as 'NAME: VALUE', or as 'NAME: env:NAME'")
    found = resolve(value, f"--header {name}") if is_reference(value) else Secret(value)
    return name, found.reveal()


def secret(key: str | None) -> Secret | None:
    if key is None:
        return None
    # A literal key is accepted, although it ends up in the shell's history.
    return resolve(key, "--key") if is_reference(key) else Secret(key)


async def report(url: str | None, key: Secret | None, path: Path | None, *, quiet: bool) -> list[Line]:
    return await shown(examine(url, key, path), quiet=quiet)


async def shown(lines: AsyncIterator[Line], *, quiet: bool) -> list[Line]:
    seen = []
    async with closing(lines) as found:
        async for line in found:
            seen.append(line)
            if not quiet:
                typer.echo(line.text())
    return seen


async def examine(url: str | None, key: Secret | None, path: Path | None) -> AsyncIterator[Line]:
    yield setup.python()
    config, said = setup.configuration(path)
    for line in (*said, *setup.extras(config)):
        yield line
    if config is not None:
        async with closing(parts(config)) as found:
            async for line in found:
                yield line
    async with closing(running(url, key, config)) as found:
        async for line in found:
            yield line


async def parts(config: Config) -> AsyncIterator[Line]:
    yield store.store(config)
    yield local.engine(config)
    yield local.embedded_weights(config)
    config = local.without(config)
    models, lines = setup.models(config)
    for line in (*lines, *local.files(models), *setup.tools(config), *setup.databases(config)):
        yield line
    made, line = setup.runtime(config)
    yield line
    if made is not None:
        for line in setup.plugins(made):
            yield line
        await made.close()
    async with closing(upstream.reach(models)) as found:
        async for line in found:
            yield line


async def running(url: str | None, key: Secret | None, config: Config | None) -> AsyncIterator[Line]:
    base = url or (address(config) if config else None)
    if base is None:
        yield skipped("server", "where it would be is not known without a valid config", "or give --url URL")
        return
    ours = next(iter(config.auth.keys.values()), None) if config and not url else None
    used = key or ours
    async with Client(base, used.reveal() if used else None) as client:
        try:
            there = await server.answers(client)
        except Unreachable as error:
            for line in absent(base, str(error), None if url else config):
                yield line
            return
        if not there:
            yield broken("server", f"{base} answers, but is no rightseat", "stop that program, or give --url")
            return
        yield good("server", f"runs at {base}")
        async with closing(live(client, config, local=url is None)) as found:
            async for line in found:
                yield line


async def live(client: Client, config: Config | None, *, local: bool) -> AsyncIterator[Line]:
    every = registry.every("doors")
    required = config.auth.required if config and local else None
    path = next(probe.path for door in every for probe in door.probes if probe.method == "POST")
    cors = config.server.cors if config and local else ()
    checks = [
        doors.probes(client, "operators", server.PROBES),
        *(doors.probes(client, door.name, door.probes) for door in every),
        doors.keys(client, every, required=required),
        browser.origins(client, path, cors),
        server.connection(client),
    ]
    for check in checks:
        async with closing(check) as found:
            async for line in found:
                yield line


def absent(base: str, why: str, config: Config | None) -> list[Line]:
    """Return the lines for a server that does not run: broken with --url, else whether the port is free."""
    if config is None:
        return [broken("server", f"{base}: {why}", "start it: rightseat serve, or correct --url")]
    line = skipped("server", f"not running at {base}", "start it: rightseat serve")
    return [line, port(config)]


def port(config: Config) -> Line:
    settings = config.server
    what = f"port {settings.port}"
    try:
        listen.protect(config)
        listen.listen(settings.host, settings.port).close()
    except ConfigError as error:
        problem, _, fix = error.message.partition("\n")
        return broken(what, problem, " ".join(fix.split()) or "change [server] host or port")
    return good(what, f"free on {settings.host}")


def address(config: Config) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.server.host, config.server.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{config.server.port}"
