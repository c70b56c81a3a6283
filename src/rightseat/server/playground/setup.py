"""Set-up report for the playground: the doctor's checks, and snippets to connect clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rightseat.http.endpoint import Door, Request
from rightseat.server.playground.files import PLAYGROUND_DIR
from rightseat.wiring.library import Runtime

if TYPE_CHECKING:
    from rightseat.doctor.line import CheckResult


async def report_setup(runtime: Runtime, doors: Sequence[Door], request: Request) -> dict[str, Any]:
    """Return checks and client snippets; with `doors` in the query, every door is probed too (slow)."""
    lines = list(check_runtime(runtime))
    if "doors" in request.query:
        lines += [line async for line in probe_doors(doors, request)]
    return {
        "lines": [line.to_dict() for line in lines],
        "clients": list(list_client_snippets(request.base, bool(request.headers.get("authorization")))),
    }


def check_runtime(runtime: Runtime) -> Iterator[CheckResult]:
    # Lazy: the doctor's imports are heavy.
    from rightseat.doctor.line import broken, good, skipped
    from rightseat.doctor.setup import check_extras, check_python

    yield check_python()
    if runtime.ready:
        yield good("ready", "new questions are answered")
    else:
        yield broken("ready", "a model is not there yet", "look at the server's log")
    yield good("assistants", ", ".join(runtime.responders))
    for name in runtime.responders:
        agent = runtime.responders.find_agent(name)
        if agent is not None and agent.unavailable_reason:
            yield broken(f"agent {name}", agent.unavailable_reason, f"start it, or change [agents.{name}]")
    for one in runtime.plugins.loaded.values() if runtime.plugins else ():
        errors = [found for found in one.plugin.problems if found.gravity == "error"]
        if errors:
            yield broken(
                f"plugin {one.plugin.id}", str(errors[0]), f"rightseat plugins check {one.plugin.id}"
            )
        else:
            yield good(f"plugin {one.plugin.id}", f"{len(one.tools)} tools")
    if (PLAYGROUND_DIR / "vendor" / "echarts.js").is_file():
        yield good("charts", "ECharts is here")
    else:
        yield skipped("charts", "ECharts is not here: charts are shown as tables", "make assets")
    yield from check_extras(None)


async def probe_doors(doors: Sequence[Door], request: Request) -> AsyncIterator[CheckResult]:
    from rightseat.doctor.client import ProbeClient
    from rightseat.doctor.doors import run_probes

    key = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    async with ProbeClient(request.base, key or None) as client:
        for door in doors:
            async for line in run_probes(client, door.name, door.probes):
                yield line


def list_client_snippets(base: str, needs_key: bool) -> Iterator[dict[str, str]]:
    """Yield snippets with this server's URL; the key appears as an environment variable."""
    key = "$RIGHTSEAT_KEY"
    header = f' headers={{{{ Authorization: "Bearer {key}" }}}}' if needs_key else ""
    yield {"name": "CopilotKit (React)", "line": f'<CopilotKit runtimeUrl="{base}/copilotkit"{header}>'}
    yield {"name": "OpenBB Workspace", "line": f"Agents → Add Agent → {base}"}
    yield {
        "name": "OpenAI (Python)",
        "line": f'OpenAI(base_url="{base}/v1", api_key="{key if needs_key else "none"}")',
    }
    more = f', headers: {{ Authorization: "Bearer {key}" }}' if needs_key else ""
    yield {"name": "AG-UI (JavaScript)", "line": f'new HttpAgent({{ url: "{base}/agui/default"{more} }})'}
    bearer = f' --header "Authorization: Bearer {key}"' if needs_key else ""
    yield {
        "name": "MCP (Claude Code)",
        "line": f"claude mcp add --transport http rightseat {base}/mcp{bearer}",
    }
    authorization = f" -H 'Authorization: Bearer {key}'" if needs_key else ""
    body = '{"messages":[{"role":"user","content":"Hello"}]}'
    posted = f"-H 'content-type: application/json' -d '{body}'"
    yield {"name": "curl", "line": f"curl {base}/v1/chat/completions{authorization} {posted}"}
