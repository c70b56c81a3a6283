"""Run all checks in the order in which the client would send its requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from rightseat.doctor.client import ProbeClient, ProbeReply, Unreachable
from rightseat.doctor.line import CheckResult, broken, good, skipped
from rightseat.doctor.openbb import answers
from rightseat.doctor.openbb.agents import ExaminedAgent, check_agents, choose_agent
from rightseat.doctor.openbb.caller import OpenBBPage, check_readable
from rightseat.doctor.openbb.cors import check_preflights
from rightseat.doctor.openbb.fault import Fault, report_faults
from rightseat.doctor.openbb.requests import make_vote
from rightseat.types.streams import closing

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
    async with ProbeClient("") as client:
        caller = OpenBBPage(client, headers)
        agents: dict[str, ExaminedAgent] = {}
        async with closing(check_files(caller, base, agents)) as results:
            async for line in results:
                yield line
        if not agents:
            yield skipped("openbb: questions", "nobody to ask", "put the file of agents right first")
            return
        current = agents.get(AGENTS_FILE) or agents[COPILOTS_FILE]
        async with closing(check_answers(caller, current, agents.get(COPILOTS_FILE) or current)) as results:
            async for line in results:
                yield line


async def check_files(
    caller: OpenBBPage, base: str, agents: dict[str, ExaminedAgent]
) -> AsyncIterator[CheckResult]:
    """Check both agent files: the current client falls back to copilots.json, that of 2024 reads only it."""
    try:
        first = await caller.get(f"{base}/{AGENTS_FILE}")
        second = await caller.get(f"{base}/{COPILOTS_FILE}")
    except Unreachable as error:
        yield broken("openbb: agents", f"{base}: {error}", "start the server, or correct the URL")
        return
    available = [
        name for name, reply in ((AGENTS_FILE, first), (COPILOTS_FILE, second)) if reply.status == 200
    ]
    for name, reply in ((AGENTS_FILE, first), (COPILOTS_FILE, second)):
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


async def check_answers(
    caller: OpenBBPage, current: ExaminedAgent, legacy: ExaminedAgent
) -> AsyncIterator[CheckResult]:
    checks = [
        check_preflights(caller, current.query),
        answers.check_plain_question(caller, current.query, old=False),
        answers.check_plain_question(caller, legacy.query, old=True),
        answers.check_widget_question(caller, current.query, old=False),
        answers.check_widget_question(caller, legacy.query, old=True),
        answers.check_tolerance(caller, current.query),
        check_feedback(caller, current),
    ]
    for check in checks:
        async with closing(check) as results:
            async for line in results:
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
