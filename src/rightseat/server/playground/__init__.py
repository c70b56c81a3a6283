"""The playground: the page at `/`. It speaks AG-UI to our own door; this folder serves the rest as JSON.

overview: assistants, examples, set-up checks. plugins: plugins, flow pictures, tool trials. door_output: a
run as each door writes it. responses: JSON handlers and static files. page/ and vendor/: the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rightseat.errors import NotFound
from rightseat.http.auth import LOCAL
from rightseat.http.endpoint import Door, Request, Route
from rightseat.http.reply import Reply
from rightseat.models.llamacpp import prompt_log as lens
from rightseat.server.operations import refuse
from rightseat.server.playground import about, files, flows, plugins
from rightseat.server.playground.answers import Asked, answering, posted
from rightseat.server.playground.setup import examined
from rightseat.server.playground.trying import Attempt, tried
from rightseat.server.playground.wire import wired
from rightseat.wiring.library import Runtime

Now = Callable[[], Runtime]


async def looked(request: Request) -> list[lens.Asked]:
    """Return the prompts of a run. Only without [auth]: prompts may be another owner's."""
    if request.owner != LOCAL:
        raise NotFound("Prompts are shown only where no keys are set: they may be another's.")
    return lens.kept(request.params["run"])


def playground(runtime: Now, doors: Sequence[Door], plain: Callable[[Request, object], Reply]) -> Door:
    """Make the playground's door. `serve_plain` answers clients at `/` that are no browser. The page's files
    need no key; all data does."""
    page = files.Page()

    def first(request: Request, host: object) -> Reply:
        return page.index() if "text/html" in request.headers.get("accept", "") else plain(request, host)

    def ask(path: str, answer: Asked, summary: str) -> Route:
        return Route("GET", f"/playground/{path}", answering(answer), summary=summary)

    routes = (
        Route("GET", "/", first, open=True),
        Route("GET", "/docs", lambda request, host: page.index(), open=True, summary="The API, as a page"),
        ask("about", lambda r: about.told(runtime(), doors, r), "Who can be asked here, and how"),
        ask("flows", lambda r: flows.drawn(runtime()), "The flows as pictures"),
        ask("plugins", lambda r: plugins.listed(runtime()), "The plugins, and what is wrong with them"),
        ask("setup", lambda r: examined(runtime(), doors, r), "What works here, and how to mend the rest"),
        ask("prompts/{run}", looked, "What a local model was asked in a run"),
        ask("wire/{thread}", lambda r: wired(runtime(), doors, r), "A run as each door would write it"),
        Route(
            "POST",
            "/playground/try",
            posted(Attempt, lambda given, r: tried(runtime(), given, r)),
            body=Attempt,
            summary="Call an operation by hand",
        ),
        # Last: matches every other path.
        Route("GET", "/playground/{name:path}", page.file, open=True, summary="The playground's files"),
    )
    return Door("playground", routes, refuse, lambda base: f"{base}/")
