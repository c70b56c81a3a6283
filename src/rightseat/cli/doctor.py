"""`rightseat doctor`: runs the checks in order and prints each line as soon as it is known."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import typer

from rightseat.cli import log
from rightseat.config.secret import Secret, is_reference, resolve_reference
from rightseat.config.settings import Config
from rightseat.doctor import openbb as agents
from rightseat.doctor import running_server, setup
from rightseat.doctor.client import ProbeClient, Unreachable
from rightseat.doctor.result import CheckResult, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.server import service
from rightseat.types.streams import closing
from rightseat.wiring.registry import load_all


def run_doctor(url: str | None, key: str | None, path: Path | None, *, as_json: bool) -> int:
    """Check the set-up and the server; returns the exit code: 1 when something is broken."""
    prepare_output()
    return print_verdict(asyncio.run(run_checks(url, parse_key(key), path, quiet=as_json)), as_json=as_json)


def run_openbb_doctor(url: str, headers: Sequence[str], *, as_json: bool) -> int:
    """Check any OpenBB agent server; returns the exit code."""
    prepare_output()
    parsed = dict(map(parse_header, headers))
    return print_verdict(asyncio.run(print_lines(agents.examine(url, parsed), quiet=as_json)), as_json=as_json)


def prepare_output() -> None:
    log.configure_logging("console", "warning")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without ✓ must not end the checks.
        sys.stdout.reconfigure(errors="replace")


def print_verdict(lines: list[CheckResult], *, as_json: bool) -> int:
    bad = sum(line.state == "broken" for line in lines)
    if as_json:
        typer.echo(json.dumps({"ok": not bad, "lines": [line.to_dict() for line in lines]}, indent=2))
    else:
        typer.echo(f"\n{bad} broken. The lines above say how to fix each problem." if bad else "\nEverything works.")
    return 1 if bad else 0


def parse_header(text: str) -> tuple[str, str]:
    """Parse `NAME: VALUE`; the value may be a reference to a secret."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not (name and colon and value):
        raise ConfigError(f"--header {name or '…'}: write it as 'NAME: VALUE', or as 'NAME: env:NAME'")
    secret_value = resolve_reference(value, f"--header {name}") if is_reference(value) else Secret(value)
    return name, secret_value.reveal()


def parse_key(key: str | None) -> Secret | None:
    if key is None:
        return None
    # A literal key is accepted, although it ends up in the shell's history.
    return resolve_reference(key, "--key") if is_reference(key) else Secret(key)


async def run_checks(url: str | None, key: Secret | None, path: Path | None, *, quiet: bool) -> list[CheckResult]:
    return await print_lines(stream_checks(url, key, path), quiet=quiet)


async def print_lines(lines: AsyncIterator[CheckResult], *, quiet: bool) -> list[CheckResult]:
    printed = []
    async with closing(lines) as stream:
        async for line in stream:
            printed.append(line)
            if not quiet:
                typer.echo(line.format_text())
    return printed


async def stream_checks(url: str | None, key: Secret | None, path: Path | None) -> AsyncIterator[CheckResult]:
    yield setup.check_python()
    config, config_lines = setup.check_config(path)
    for line in (*config_lines, *setup.check_extras(config)):
        yield line
    if config is not None:
        async with closing(stream_config_checks(config)) as found:
            async for line in found:
                yield line
    async with closing(stream_server_checks(url, key, config)) as found:
        async for line in found:
            yield line


async def stream_config_checks(config: Config) -> AsyncIterator[CheckResult]:
    yield setup.check_store(config)
    yield setup.check_engine(config)
    yield setup.check_embedded_weights(config)
    config = setup.without_local_model(config)
    models, lines = setup.check_models(config)
    for line in (*lines, *setup.check_model_files(models), *setup.check_tools(config), *setup.check_databases(config)):
        yield line
    built, line = setup.check_runtime(config)
    yield line
    if built is not None:
        for line in setup.check_plugins(built):
            yield line
        await built.close()
    async with closing(setup.check_upstreams(models)) as found:
        async for line in found:
            yield line


async def stream_server_checks(
    url: str | None, key: Secret | None, config: Config | None
) -> AsyncIterator[CheckResult]:
    base = url or (get_server_url(config) if config else None)
    if base is None:
        yield skipped(
            "server", "its address is unknown without a valid configuration", "fix the configuration, or give --url URL"
        )
        return
    ours = next(iter(config.auth.keys.values()), None) if config and not url else None
    used = key or ours
    async with ProbeClient(base, used.reveal() if used else None) as client:
        try:
            is_rightseat = await running_server.is_rightseat(client)
        except Unreachable as error:
            for line in explain_absence(base, str(error), None if url else config):
                yield line
            return
        if not is_rightseat:
            yield broken(
                "server", f"{base} is answered by another program, not by rightseat", "stop that program, or give --url"
            )
            return
        yield good("server", f"runs at {base}")
        async with closing(stream_door_checks(client, config, local=url is None)) as found:
            async for line in found:
                yield line


async def stream_door_checks(client: ProbeClient, config: Config | None, *, local: bool) -> AsyncIterator[CheckResult]:
    all_doors = load_all("doors")
    required = config.auth.required if config and local else None
    path = next(probe.path for door in all_doors for probe in door.probes if probe.method == "POST")
    cors = config.server.cors if config and local else ()
    checks = [
        running_server.run_probes(client, "operators", running_server.SERVER_PROBES),
        *(running_server.run_probes(client, door.name, door.probes) for door in all_doors),
        running_server.check_keys(client, all_doors, required=required),
        running_server.check_origins(client, path, cors),
        running_server.check_connection(client),
    ]
    for check in checks:
        async with closing(check) as found:
            async for line in found:
                yield line


def explain_absence(base: str, why: str, config: Config | None) -> list[CheckResult]:
    """Return the lines for a server that does not run: broken with --url, else whether the port is free."""
    if config is None:
        return [broken("server", f"{base}: {why}", "start it: rightseat serve, or correct --url")]
    line = skipped("server", f"not running at {base}", "start it: rightseat serve")
    return [line, check_port(config)]


def check_port(config: Config) -> CheckResult:
    settings = config.server
    what = f"port {settings.port}"
    try:
        service.check_exposure(config)
        service.open_listener(settings.host, settings.port).close()
    except ConfigError as error:
        problem, _, fix = error.message.partition("\n")
        return broken(what, problem, " ".join(fix.split()) or "change [server] host or port")
    return good(what, f"free on {settings.host}")


def get_server_url(config: Config) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.server.host, config.server.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{config.server.port}"
