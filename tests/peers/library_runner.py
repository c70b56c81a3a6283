"""Drives the program of a client library through its cases against a real server.

All cases of a library run in one process, because importing a library costs more than they do; the tests then
look at what was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.chunks import Json
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.client_runner import HERE, ClientProcess, install_program, start_client
from tests.peers.install import PEERS_FOLDER
from tests.peers.library_upstream import LibraryReply

LIBRARIES = {
    "instructor": "instructor",
    "openai-agents": "openai-agents",
    "langgraph": "langchain-openai",
    "llama-index": "llama-index",
    "pydantic-ai": "pydantic-ai",
    "autogen": "autogen",
    "smolagents": "smolagents",
    "ai-sdk": "ai-sdk",
}
"""The peer, and so the environment, of each library."""
SCRIPTED_CONFIG = f"""
[models.script]
spec = "openai:script"
base_url = "{{base_url}}"
[models.cut]
spec = "scripted:{HERE / "library_script.json"}"
[assistants.default]
model = "script"
"""
# Nothing but our server can be reached: what a library reports to its makers, or fetches, fails at once.
OFFLINE = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
    "LANGSMITH_TRACING": "false",
}


@dataclass(slots=True)
class LibraryReport:
    """What a library's user saw of each case, and the requests that reached the upstream in it."""

    name: str
    version: str
    answers: dict[str, Json] = field(default_factory=dict)
    requests: dict[str, list[Json]] = field(default_factory=dict)


async def drive_library(
    name: str,
    cases: Sequence[tuple[str, str]],
    server: RightseatProcess,
    upstream: FakeUpstream | None = None,
    reply_timeout: float = HANG_TIMEOUT,
    url: str = "",
) -> LibraryReport:
    """Run the cases, each with the model named beside it; `url`: the server's address as the client gets it."""
    command = [*find_program(LIBRARIES.get(name, name)), f"{url or server.url}/v1"]
    variables = {**OFFLINE, "HOME": str(server.folder)}
    console_file = server.folder / f"{name}.console"
    async with start_client(command, console_file, variables=variables, reply_timeout=reply_timeout) as client:
        report = LibraryReport(name, (await client.read_reply("start"))["version"])
        for case, model in cases:
            seen_before = len(upstream.requests) if upstream else 0
            report.answers[case] = await run_case(client, case, model, upstream)
            report.requests[case] = [request.json for request in upstream.requests[seen_before:]] if upstream else []
    return report


async def run_case(client: ClientProcess, case: str, model: str, upstream: FakeUpstream | None) -> Json:
    """The answer to one case. The upstream goes on with a held stream once the client has its first piece."""
    await client.send_line(f"{case} {model}")
    while "first" in (answer := await client.read_reply(case)):
        if upstream is not None and isinstance(upstream.reply, LibraryReply):
            upstream.reply.released.set()
    return answer


def find_program(peer: str) -> list[str]:
    """The command that starts a library's program with what its own environment has."""
    home = PEERS_FOLDER / peer
    # OpenAI's own libraries have programs of other cases beside: `streams*` is that of the lines here.
    program = next(path for name in ("library*", "streams*") for path in (HERE / peer).glob(name))
    if program.suffix == ".py":
        return [str(home / "bin" / "python"), str(program)]
    # Node looks for packages beside the program, not where it was started.
    target = home / Path(program.name)
    install_program(program, target)
    return ["node", str(target)]
