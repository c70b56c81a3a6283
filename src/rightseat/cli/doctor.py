"""`rightseat doctor`: runs the checks in order and prints each line as soon as it is known."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec
import typer

from rightseat.cli import log
from rightseat.cli.plugins import prepare_output
from rightseat.config.installation import format_program, join_command
from rightseat.config.secret import Secret, is_reference, mask, resolve_reference
from rightseat.config.settings import Config
from rightseat.doctor import running_server, setup
from rightseat.doctor.client import ProbeClient, Unreachable
from rightseat.doctor.cluster import check_cluster, uses_cluster
from rightseat.doctor.live import check_live, uses_live_server
from rightseat.doctor.model_calls import call_models
from rightseat.doctor.openbb.ask import OpenBBQuestion, ask_agent, read_body, read_item
from rightseat.doctor.openbb.examine import examine
from rightseat.doctor.openbb.reply import ExaminedReply
from rightseat.doctor.openbb.screen import ScreenPart, remove_control
from rightseat.doctor.openbb.simulated_client import PAGE_ORIGIN
from rightseat.doctor.result import CheckResult, Fault, broken, chain, good, report_faults, untried
from rightseat.doctor.running_server import ServerIdentity
from rightseat.errors import ConfigError
from rightseat.http.descriptors import get_descriptor_limit
from rightseat.models.llamacpp.machine import get_machine
from rightseat.server import service
from rightseat.server.second import format_second_command
from rightseat.types.streams import closing
from rightseat.wiring.lookup import load_all
from rightseat.wiring.storage import compute_setup_digest, describe_store_location, read_address


def run_doctor(url: str | None, key: str | None, path: Path | None, *, as_json: bool, call: bool = False) -> int:
    """Check the set-up and the server; returns the exit code: 1 when something is broken."""
    # A literal key is accepted, although it ends up in the shell's history.
    secret = None if key is None else parse_secret(key, "--key")
    return print_report(stream_checks(url, secret, path, call=call), as_json=as_json)


def run_openbb_doctor(url: str, headers: Sequence[str], origin: str | None, *, as_json: bool) -> int:
    """Check any OpenBB agent server; returns the exit code."""
    origin = (origin or PAGE_ORIGIN).rstrip("/")
    return print_report(examine(url, dict(map(parse_header, headers)), origin), as_json=as_json)


def reject_options(options: Mapping[str, object], needed: str) -> None:
    """Raise ConfigError if one of the options is given: they have no effect without the needed one."""
    given = [name for name, value in options.items() if value]
    if given:
        raise ConfigError(f"{', '.join(given)}: works only with {needed}")


def make_question(text: str | None, agent: str | None, body: Path | None, data: Sequence[str]) -> OpenBBQuestion:
    request = read_body(body) if body else {}
    if not text and not request.get("messages"):
        raise ConfigError("--ask: give a question, or messages in the file of --body")
    return OpenBBQuestion(text=text or "", body=request, items=dict(map(read_item, data)), agent=agent or "")


def run_openbb_question(
    url: str, headers: Sequence[str], origin: str | None, question: OpenBBQuestion, *, as_json: bool
) -> int:
    """Ask an OpenBB agent a question and print what a person would see; returns the exit code."""
    log.configure_logging("console", "warning")
    prepare_output()
    origin = (origin or PAGE_ORIGIN).rstrip("/")
    answers = ask_agent(url, dict(map(parse_header, headers)), question, origin)
    parts, faults = asyncio.run(print_screen(answers, quiet=as_json))
    bad = any(fault.enforced for fault in faults)
    if as_json:
        lines = [line.to_dict() for line in report_faults(ANSWER_LINE, faults)]
        screen = [msgspec.to_builtins(part) for part in parts]
        typer.echo(mask(json.dumps({"ok": not bad, "screen": screen, "lines": lines}, indent=2)))
    elif faults:
        typer.echo()
        for line in report_faults(ANSWER_LINE, faults):
            typer.echo(remove_control(line.format_text()))
    return 1 if bad else 0


ANSWER_LINE = "openbb: answer"


async def print_screen(answers: AsyncIterator[ExaminedReply], *, quiet: bool) -> tuple[list[ScreenPart], list[Fault]]:
    """Print the screen, answer by answer, unless it is `quiet`; returns its parts and the faults of all answers."""
    parts: list[ScreenPart] = []
    faults: list[Fault] = []
    async with closing(answers) as stream:
        async for answer in stream:
            parts += answer.parts
            faults += answer.faults
            for part in () if quiet else answer.parts:
                typer.echo(mask(part.format_text()))
    return parts, faults


def print_report(checks: AsyncIterator[CheckResult], *, as_json: bool) -> int:
    log.configure_logging("console", "warning")
    prepare_output()
    lines = asyncio.run(print_lines(checks, quiet=as_json))
    bad = sum(line.state == "broken" for line in lines)
    if as_json:
        unknown = [line.what for line in lines if line.is_untried]
        report = {"ok": not bad, "untried": unknown, "lines": [line.to_dict() for line in lines]}
        typer.echo(json.dumps(report, indent=2))
    else:
        typer.echo(f"\n{format_verdict(lines)}")
    return 1 if bad else 0


def format_verdict(lines: Sequence[CheckResult]) -> str:
    """Format the last line. It says that everything works only where no check is broken or lacked something that the
    operator can give; a check that does not apply, or that was too fast to measure, is in its own line alone."""
    bad = sum(line.state == "broken" for line in lines)
    unknown = [line.what for line in lines if line.is_untried]
    if bad:
        return f"{bad} broken. The lines above say how to fix each problem."
    if not unknown:
        return "Everything works."
    more = f" and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
    return f"Nothing is broken of what was checked. Not checked: {'; '.join(unknown[:MAX_NAMED])}{more}."


MAX_NAMED = 5
"""The most checks that the last line names."""


def parse_header(text: str) -> tuple[str, str]:
    """Parse `NAME: VALUE`; the value may be a reference to a secret."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not (name and colon and value):
        raise ConfigError(f"--header {name or '…'}: write it as 'NAME: VALUE', or as 'NAME: env:NAME'")
    return name, parse_secret(value, f"--header {name}").reveal()


def parse_secret(text: str, label: str) -> Secret:
    return resolve_reference(text, label) if is_reference(text) else Secret(text)


async def print_lines(lines: AsyncIterator[CheckResult], *, quiet: bool) -> list[CheckResult]:
    printed = []
    async with closing(lines) as stream:
        async for line in stream:
            printed.append(line)
            if not quiet:
                typer.echo(line.format_text())
    return printed


async def stream_checks(
    url: str | None, key: Secret | None, path: Path | None, *, call: bool = False
) -> AsyncIterator[CheckResult]:
    """Yield the result of each check. `call`: ask each model for one token."""
    yield setup.check_python()
    config, config_lines = setup.check_config(path)
    for line in (*config_lines, *setup.check_extras(config)):
        yield line
    config_checks = [stream_config_checks(config, call=call)] if config is not None else []
    async with closing(chain(*config_checks, stream_server_checks(url, key, config))) as lines:
        async for line in lines:
            yield line


async def stream_config_checks(config: Config, *, call: bool) -> AsyncIterator[CheckResult]:
    yield setup.check_store(config)
    if config.server.workers != 1:
        yield check_workers(config)
    if uses_live_server(config):
        yield await check_live(config)
    if uses_cluster(config):
        async with closing(check_cluster(config)) as cluster_lines:
            async for line in cluster_lines:
                yield line
    yield setup.check_machine()
    # `serve` raises its soft limit to the hard one.
    yield setup.check_descriptors(config, get_descriptor_limit(hard=True))
    yield setup.check_engine(config)
    yield setup.check_embedded_weights(config)
    config = setup.without_local_model(config)
    models, lines = setup.check_models(config)
    for line in (*lines, *setup.check_model_files(models), *setup.check_tools(config), *setup.check_databases(config)):
        yield line
    for line in setup.check_sandbox(config):
        yield line
    others = config.models.keys() - config.chat_models.keys()
    calls = call_models({name: models[name] for name in models.keys() - others}, call=call)
    async with closing(chain(stream_runtime_checks(config), setup.check_upstreams(models), calls)) as checks:
        async for line in checks:
            yield line


async def stream_runtime_checks(config: Config) -> AsyncIterator[CheckResult]:
    """Build the Runtime, and look at what it has loaded."""
    built, line = setup.check_runtime(config)
    yield line
    if built is not None:
        for line in setup.check_plugins(built):
            yield line
        async with closing(setup.check_agents(built, config)) as checks:
            async for line in checks:
                yield line
        await built.close()


async def stream_server_checks(
    url: str | None, key: Secret | None, config: Config | None
) -> AsyncIterator[CheckResult]:
    if url is None and config is None:
        why = "its address is unknown without a valid configuration"
        yield untried("server", why, "fix the configuration, or give --url URL")
        return
    key = key or (next(iter(config.auth.keys.values()), None) if config and not url else None)
    addresses = list_addresses(url, config)
    absence = (addresses[0], "")
    for base in addresses:
        with contextlib.closing(ProbeClient(base, key.reveal() if key else None)) as client:
            try:
                identity = await running_server.identify_server(client)
            except Unreachable as error:
                absence = (base, str(error))
                continue
            line = describe_server(base, identity, None if url else config)
            if line.state == "broken" and base != addresses[-1]:
                # Somebody else has the port that this set-up's server had.
                continue
            yield line
            if line.state == "good":
                async with closing(stream_door_checks(client, None if url else config)) as checks:
                    async for line in checks:
                        yield line
            return
    for line in explain_absence(*absence, None if url else config):
        yield line


def list_addresses(url: str | None, config: Config | None) -> list[str]:
    """List where the server may be: the given URL, else that in the data folder, then the configured port."""
    if url is not None or config is None:
        return [url or ""]
    configured = service.local_url(config.server.host, config.server.port)
    return list(dict.fromkeys([*filter(None, [read_address(config)]), configured]))


def describe_server(base: str, identity: ServerIdentity, config: Config | None) -> CheckResult:
    """Describe the server at an address; without a configuration any rightseat is the one that is meant."""
    if not identity.is_rightseat:
        why = f"{base} is answered by another program, not by rightseat"
        return broken("server", why, "stop that program, or give --url")
    workers = f" with {identity.workers} workers" if identity.workers > 1 else ""
    if config is None:
        return good("server", f"runs at {base}{workers}")
    place = f"{config.path.resolve() if config.path else 'no rightseat.toml'}, data: {describe_store_location(config)}"
    if not identity.setup:
        return good("server", f"runs at {base}{workers}; it does not tell whether it is that of {place}")
    if identity.setup == compute_setup_digest(config):
        return good("server", f"this set-up's runs at {base}{workers} ({place})")
    why = f"the rightseat at {base} is of another set-up: not of {place}"
    return broken("server", why, f"check that one with --url {base}; start this one: {format_second_command(config)}")


def stream_door_checks(client: ProbeClient, config: Config | None) -> AsyncIterator[CheckResult]:
    all_doors = load_all("doors")
    path = next(probe.path for door in all_doors for probe in door.probes if probe.method == "POST")
    return chain(
        running_server.check_key(client, all_doors),
        running_server.run_probes(client, "operators", running_server.SERVER_PROBES),
        *(running_server.run_probes(client, door.name, door.probes) for door in all_doors),
        running_server.check_keys(client, all_doors, config.auth.required if config else None),
        running_server.check_origins(client, path, config.server.cors if config else ()),
        running_server.check_connection(client),
    )


def explain_absence(base: str, why: str, config: Config | None) -> list[CheckResult]:
    """Return the lines for a server that does not run: broken with --url, else whether the port is free."""
    if config is None:
        return [broken("server", f"{base}: {why}", "start it: rightseat serve, or correct --url")]
    line = untried("server", f"not running at {base}", f"start it: {join_command([*format_program(), 'serve'])}")
    return [line, check_port(config)]


def check_workers(config: Config) -> CheckResult:
    # Imported here: one worker needs nothing of it.
    from rightseat.server.workers.count import count_workers

    try:
        count = count_workers(config)
    except ConfigError as error:
        return broken("workers", error.message, "correct [server] workers")
    return good("workers", f"{count} process{'' if count == 1 else 'es'} on {get_machine().processors} processors")


def check_port(config: Config) -> CheckResult:
    host, port = config.server.host, config.server.port
    try:
        service.check_exposure(config)
        service.open_listener(host, port, suggest=lambda: format_second_command(config)).close()
    except ConfigError as error:
        problem, _, fix = error.message.partition("\n")
        return broken(f"port {port}", problem, " ".join(fix.split()) or "change [server] host or port")
    return good(f"port {port}", f"free on {host}")
