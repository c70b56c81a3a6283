"""Run all checks in the order in which the client would send its requests: agent files, CORS preflights, answers."""

from __future__ import annotations

import contextlib
import ipaddress
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from rightseat.doctor.client import ProbeClient, ProbeReply, Unreachable
from rightseat.doctor.openbb import answers
from rightseat.doctor.openbb.agents import ExaminedAgent, check_agents, choose_agent
from rightseat.doctor.openbb.simulated_client import (
    CORS_FIX,
    PAGE_ORIGIN,
    OpenBBPage,
    allows_origin,
    check_readable,
    make_vote,
)
from rightseat.doctor.result import CheckResult, Fault, broken, chain, good, report_faults, skipped
from rightseat.doctor.running_server import split_header
from rightseat.http.security import is_loopback
from rightseat.types.streams import closing

OTHER_ORIGINS = ("https://pro.openbb.dev", "http://localhost", "http://localhost:1420", "http://localhost:5050")


async def check_preflights(caller: OpenBBPage, url: str) -> AsyncIterator[CheckResult]:
    what = "openbb: preflight"
    try:
        reply = await caller.preflight(url, "POST")
        others = [
            origin for origin in OTHER_ORIGINS if not allows_origin(await caller.preflight(url, "POST", origin), origin)
        ]
    except Unreachable as error:
        yield broken(what, str(error), "answer OPTIONS")
        return
    success_text = f"{PAGE_ORIGIN} may post {', '.join(caller.requested_headers)}"
    for line in report_faults(what, find_preflight_faults(reply, caller.requested_headers), success_text):
        yield line
    if others:
        yield skipped(what, f"not for {', '.join(others)}", "allow these too where somebody uses them")
    if is_private_host(urlsplit(url).hostname or ""):
        yield check_private_network(reply)


def find_preflight_faults(reply: ProbeReply, requested_headers: list[str]) -> Iterator[Fault]:
    if not 200 <= reply.status < 300:
        yield Fault(f"OPTIONS is answered with HTTP {reply.status}", "answer it with 200 or 204, without a key")
        return
    if not allows_origin(reply, PAGE_ORIGIN):
        yield Fault(f"the page at {PAGE_ORIGIN} may not call", CORS_FIX)
    allowed = {name.lower() for name in split_header(reply, "access-control-allow-headers")}
    # `*` allows every header except Authorization.
    missing = [
        name for name in requested_headers if name not in allowed and ("*" not in allowed or name == "authorization")
    ]
    if missing:
        yield Fault(f"the page may not send {', '.join(missing)}", "name it in Access-Control-Allow-Headers")


def check_private_network(reply: ProbeReply) -> CheckResult:
    what = "openbb: private network"
    if reply.headers.get("access-control-allow-private-network") == "true":
        return good(what, "a public page may call this private address")
    fix = "answer Access-Control-Allow-Private-Network: true"
    return broken(what, "a public page may not call this private address", fix)


def is_private_host(host: str) -> bool:
    try:
        return is_loopback(host) or ipaddress.ip_address(host.strip("[]")).is_private
    except ValueError:
        return False


AGENTS_FILE, COPILOTS_FILE = "agents.json", "copilots.json"

MISSING_FILE_NOTES = {
    AGENTS_FILE: "today's client takes the other file",
    COPILOTS_FILE: "the client of 2024 finds nobody",
}

HEADER_FIX = "give the header that the dialog would send: --header 'X-API-KEY: …'"


async def examine(url: str, headers: Mapping[str, str]) -> AsyncIterator[CheckResult]:
    base = url.rstrip("/")
    for name in (AGENTS_FILE, COPILOTS_FILE):
        base = base.removesuffix(f"/{name}")
    with contextlib.closing(ProbeClient("")) as client:
        caller = OpenBBPage(client, headers)
        agents: dict[str, ExaminedAgent] = {}
        async with closing(chain(check_files(caller, base, agents), check_answers(caller, agents))) as results:
            async for line in results:
                yield line


async def check_files(caller: OpenBBPage, base: str, agents: dict[str, ExaminedAgent]) -> AsyncIterator[CheckResult]:
    """Check both agent files: the current client falls back to copilots.json, that of 2024 reads only it."""
    try:
        replies = {name: await caller.get(f"{base}/{name}") for name in (AGENTS_FILE, COPILOTS_FILE)}
    except Unreachable as error:
        yield broken("openbb: agents", f"{base}: {error}", "start the server, or correct the URL")
        return
    available = [name for name, reply in replies.items() if reply.status == 200]
    for name, reply in replies.items():
        what = f"openbb: {name}"
        if available and name not in available:
            yield skipped(what, f"HTTP {reply.status}: {MISSING_FILE_NOTES[name]}")
        else:
            for line in report_faults(what, check_file(reply, base, name, agents), f"at {base}/{name}"):
                yield line
    if caller.headers and AGENTS_FILE in available:
        yield await check_header_required(caller, f"{base}/{AGENTS_FILE}")


def check_file(reply: ProbeReply, base: str, name: str, agents: dict[str, ExaminedAgent]) -> list[Fault]:
    if reply.status in (401, 403):
        return [Fault(f"HTTP {reply.status}", HEADER_FIX)]
    if reply.status != 200:
        return [Fault(f"HTTP {reply.status}", f"serve GET /{name}")]
    try:
        data: Any = json.loads(reply.body)
    except (ValueError, RecursionError):
        return [Fault("it is no JSON", "answer with a JSON object")]
    if agent := choose_agent(data, base):
        agents[name] = agent
    return [*check_readable(reply), *check_agents(data, base, old=name == COPILOTS_FILE)]


async def check_header_required(caller: OpenBBPage, url: str) -> CheckResult:
    what = "openbb: headers"
    try:
        reply = await OpenBBPage(caller.client, {}).get(url)
    except Unreachable as error:
        return broken(what, str(error), "answer requests without headers too")
    names = ", ".join(caller.headers)
    if reply.status == 200:
        return skipped(what, f"the file of agents can be read without {names} too")
    return good(what, f"HTTP {reply.status} without {names}")


async def check_answers(caller: OpenBBPage, agents: Mapping[str, ExaminedAgent]) -> AsyncIterator[CheckResult]:
    if not agents:
        yield skipped("openbb: questions", "nobody to ask", "put the file of agents right first")
        return
    current = agents.get(AGENTS_FILE) or agents[COPILOTS_FILE]
    legacy = agents.get(COPILOTS_FILE) or current
    checks = chain(
        check_preflights(caller, current.query),
        answers.check_plain_question(caller, current.query, old=False),
        answers.check_plain_question(caller, legacy.query, old=True),
        answers.check_widget_question(caller, current.query, old=False),
        answers.check_widget_question(caller, legacy.query, old=True),
        answers.check_tolerance(caller, current.query),
        check_feedback(caller, current),
    )
    async with closing(checks):
        async for line in checks:
            yield line


async def check_feedback(caller: OpenBBPage, agent: ExaminedAgent) -> AsyncIterator[CheckResult]:
    what = "openbb: feedback"
    if agent.feedback is None:
        yield skipped(what, "no endpoint for it")
        return
    try:
        reply = await caller.post(agent.feedback, make_vote())
    except Unreachable as error:
        yield broken(what, str(error), "answer any 2xx")
        return
    wrong = list(check_readable(reply))
    if not 200 <= reply.status < 300:
        wrong.append(Fault(f"HTTP {reply.status}", "answer any 2xx to a vote"))
    for line in report_faults(what, wrong, f"HTTP {reply.status}"):
        yield line
