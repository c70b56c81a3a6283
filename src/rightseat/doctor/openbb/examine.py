"""Run all checks in the order in which the client would send its requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from rightseat.doctor.client import Client, Reply, Unreachable
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.doctor.openbb import answers
from rightseat.doctor.openbb.agents import Agent, chosen, judged
from rightseat.doctor.openbb.caller import Caller, readable
from rightseat.doctor.openbb.cors import preflights
from rightseat.doctor.openbb.fault import Fault, lines
from rightseat.doctor.openbb.requests import vote
from rightseat.types.streams import closing

TODAY, THEN = "agents.json", "copilots.json"
WITHOUT = {TODAY: "today's client takes the other file", THEN: "the client of 2024 finds nobody"}
HEADER = "give the header that the dialog would send: --header 'X-API-KEY: …'"


async def examine(url: str, headers: Mapping[str, str]) -> AsyncIterator[Line]:
    base = url.rstrip("/")
    for name in (TODAY, THEN):
        base = base.removesuffix(f"/{name}")
    async with Client("") as client:
        caller = Caller(client, headers)
        found: dict[str, Agent] = {}
        async with closing(files(caller, base, found)) as told:
            async for line in told:
                yield line
        if not found:
            yield skipped("openbb: questions", "nobody to ask", "put the file of agents right first")
            return
        now = found.get(TODAY) or found[THEN]
        async with closing(asked(caller, now, found.get(THEN) or now)) as told:
            async for line in told:
                yield line


async def files(caller: Caller, base: str, found: dict[str, Agent]) -> AsyncIterator[Line]:
    """Check both agent files: the current client falls back to copilots.json, that of 2024 reads only it."""
    try:
        first = await caller.get(f"{base}/{TODAY}")
        second = await caller.get(f"{base}/{THEN}")
    except Unreachable as error:
        yield broken("openbb: agents", f"{base}: {error}", "start the server, or correct the URL")
        return
    there = [name for name, reply in ((TODAY, first), (THEN, second)) if reply.status == 200]
    for name, reply in ((TODAY, first), (THEN, second)):
        what = f"openbb: {name}"
        if there and name not in there:
            yield skipped(what, f"HTTP {reply.status}: {WITHOUT[name]}")
        else:
            for line in lines(what, described(reply, base, name, found), f"at {base}/{name}"):
                yield line
    if caller.headers and TODAY in there:
        yield await locked(caller, f"{base}/{TODAY}")


def described(reply: Reply, base: str, name: str, found: dict[str, Agent]) -> list[Fault]:
    if reply.status in (401, 403):
        return [Fault(f"HTTP {reply.status}", HEADER)]
    if reply.status != 200:
        return [Fault(f"HTTP {reply.status}", f"serve GET /{name}")]
    try:
        given: Any = json.loads(reply.body)
    except (ValueError, RecursionError):
        return [Fault("it is no JSON", "answer with a JSON object")]
    if agent := chosen(given, base):
        found[name] = agent
    return [*readable(reply), *judged(given, base, old=name == THEN)]


async def locked(caller: Caller, url: str) -> Line:
    what = "openbb: headers"
    try:
        bare = await Caller(caller.client, {}).get(url)
    except Unreachable as error:
        return broken(what, str(error), "answer requests without headers too")
    names = ", ".join(caller.headers)
    if bare.status == 200:
        return skipped(what, f"the file of agents can be read without {names} too")
    return good(what, f"HTTP {bare.status} without {names}")


async def asked(caller: Caller, now: Agent, then: Agent) -> AsyncIterator[Line]:
    checks = [
        preflights(caller, now.query),
        answers.plain(caller, now.query, old=False),
        answers.plain(caller, then.query, old=True),
        answers.trip(caller, now.query, old=False),
        answers.trip(caller, then.query, old=True),
        answers.tolerance(caller, now.query),
        votes(caller, now),
    ]
    for check in checks:
        async with closing(check) as told:
            async for line in told:
                yield line


async def votes(caller: Caller, agent: Agent) -> AsyncIterator[Line]:
    what = "openbb: feedback"
    if agent.feedback is None:
        yield skipped(what, "no endpoint for it")
        return
    try:
        reply = await caller.post(agent.feedback, vote())
    except Unreachable as error:
        yield broken(what, str(error), "answer any 2xx")
        return
    wrong = list(readable(reply))
    if not 200 <= reply.status < 300:
        wrong.append(Fault(f"HTTP {reply.status}", "answer any 2xx to a vote"))
    for line in lines(what, wrong, f"HTTP {reply.status}"):
        yield line
