"""The playground: the page at `/`. It speaks AG-UI to our own door; this folder serves the rest as JSON.

overview: assistants, examples, set-up checks. plugins: plugins, flow pictures, tool trials. door_output: a
run as each door writes it. responses: JSON handlers and static files. page/ and vendor/: the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rightseat.errors import NotFound
from rightseat.http.auth import LOCAL_OWNER
from rightseat.http.endpoint import Door, Request, Route
from rightseat.http.reply import Reply
from rightseat.models.llamacpp import prompt_log
from rightseat.server.operations import make_error_reply
from rightseat.server.playground import overview, plugins, responses
from rightseat.server.playground.door_output import render_run_by_door
from rightseat.server.playground.overview import report_setup
from rightseat.server.playground.plugins import ToolTrial, try_tool
from rightseat.server.playground.responses import JsonHandler, make_get_handler, make_post_handler
from rightseat.wiring.runtime import Runtime

GetRuntime = Callable[[], Runtime]


async def list_prompts(request: Request) -> list[prompt_log.LoggedPrompt]:
    """Return the prompts of a run. Only without [auth]: prompts may be another owner's."""
    if request.owner != LOCAL_OWNER:
        raise NotFound("Prompts are shown only if no keys are set, because they may belong to another user.")
    return prompt_log.get_prompts(request.params["run"])


def make_playground_door(
    runtime: GetRuntime, doors: Sequence[Door], serve_plain: Callable[[Request, object], Reply]
) -> Door:
    """Make the playground's door. `serve_plain` answers clients at `/` that are no browser. The page's files
    need no key; all data does."""
    page = responses.PlaygroundFiles()

    def serve_root(request: Request, host: object) -> Reply:
        return page.serve_index() if "text/html" in request.headers.get("accept", "") else serve_plain(request, host)

    def make_json_route(path: str, answer: JsonHandler, summary: str) -> Route:
        return Route("GET", f"/playground/{path}", make_get_handler(answer), summary=summary)

    routes = (
        Route("GET", "/", serve_root, public=True),
        Route("GET", "/docs", lambda request, host: page.serve_index(), public=True, summary="The API, as a page"),
        make_json_route(
            "about", lambda r: overview.describe_server(runtime(), doors, r), "Who can be asked here, and how"
        ),
        make_json_route("flows", lambda r: plugins.list_flows(runtime()), "The flows as pictures"),
        make_json_route(
            "plugins", lambda r: plugins.list_plugins(runtime()), "The plugins, and what is wrong with them"
        ),
        make_json_route(
            "setup", lambda r: report_setup(runtime(), doors, r), "What works here, and how to mend the rest"
        ),
        make_json_route("prompts/{run}", list_prompts, "What a local model was asked in a run"),
        make_json_route(
            "wire/{thread}", lambda r: render_run_by_door(runtime(), doors, r), "A run as each door would write it"
        ),
        Route(
            "POST",
            "/playground/try",
            make_post_handler(ToolTrial, lambda given, r: try_tool(runtime(), given, r)),
            body_type=ToolTrial,
            summary="Call an operation by hand",
        ),
        # Last: matches every other path.
        Route("GET", "/playground/{name:path}", page.serve_file, public=True, summary="The playground's files"),
    )
    return Door("playground", routes, make_error_reply, lambda base: f"{base}/")
