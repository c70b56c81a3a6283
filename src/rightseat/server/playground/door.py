"""The playground's door: the page's files, and its data as uncached JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rightseat.errors import NotFound, RightseatError
from rightseat.http.auth import LOCAL_OWNER
from rightseat.http.endpoint import Door, Request, Route, decode_body, make_full_response, make_reply
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.http.static import CONTENT_TYPES, PAGE_HEADERS, StaticFiles
from rightseat.models.llamacpp import prompt_log
from rightseat.server.operations import make_error_reply, make_error_response
from rightseat.server.playground.door_output import render_run_by_door
from rightseat.server.playground.models import ModelControl, make_model_routes
from rightseat.server.playground.overview import PLAYGROUND_DIR, describe_server, report_doors, report_setup
from rightseat.server.playground.plugins import ToolTrial, list_flows, list_plugins, try_tool
from rightseat.server.playground.search import SearchForm, search_threads
from rightseat.types.json_values import encode_json
from rightseat.wiring.runtime import Runtime

FILES = StaticFiles({"": PLAYGROUND_DIR / "page", "vendor/": PLAYGROUND_DIR / "vendor"})


def serve_page(request: Request, host: object) -> Reply:
    data = FILES.paths["index.html"].read_bytes()
    return make_reply(200, data, (b"cache-control", b"no-cache"), *PAGE_HEADERS, content_type=CONTENT_TYPES[".html"])


def serve_file(request: Request, host: object) -> Reply:
    return FILES.make_file_reply(request.params["name"], request)


async def stream_json_reply(answer: Awaitable[Any]) -> Reply:
    try:
        body = encode_json(await answer)
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
    else:
        yield make_full_response(200, body, (b"cache-control", b"no-store"))


async def list_prompts(request: Request) -> list[prompt_log.LoggedPrompt]:
    """Return the prompts of a run. Only without [auth]: prompts may be another owner's."""
    if request.owner != LOCAL_OWNER:
        raise NotFound("Prompts are shown only if no keys are set, because they may belong to another user.")
    return prompt_log.get_prompts(request.params["run"])


def make_playground_door(
    runtime: Callable[[], Runtime],
    doors: Sequence[Door],
    model_control: Callable[[], ModelControl | None] = lambda: None,
    *,
    needs_key: bool = False,
) -> Door:
    """Make the playground's door. The page's files need no key; all data does."""

    def serve_root(request: Request, host: object) -> Reply:
        """Serve the page to a browser, and to other clients the list of doors as text."""
        if "text/html" in request.headers.get("accept", ""):
            return serve_page(request, host)
        hints = ((door.name, door.make_hint(request.base, needs_key=needs_key)) for door in doors)
        lines = "".join(f"  {name:<12}{hint}\n" for name, hint in hints if hint)
        text = f"rightseat is running. Its doors, and how a client finds them:\n\n{lines}"
        return make_reply(200, text.encode(), content_type=b"text/plain; charset=utf-8")

    def make_json_route(path: str, answer: Callable[[Request], Awaitable[Any]], summary: str) -> Route:
        return Route("GET", f"/playground/{path}", lambda r, host: stream_json_reply(answer(r)), summary=summary)

    def serve_trial(request: Request, host: object) -> Reply:
        return stream_json_reply(try_tool(runtime(), decode_body(request.body, ToolTrial), request))

    def serve_search(request: Request, host: object) -> Reply:
        form = decode_body(request.body, SearchForm)
        return stream_json_reply(search_threads(runtime().threads.store, request.owner, form))

    def serve_probes(request: Request, host: object) -> Reply:
        return stream_json_reply(report_doors(runtime(), doors, request))

    routes = (
        Route("GET", "/", serve_root, public=True),
        Route("GET", "/docs", serve_page, public=True, summary="The API, as a page"),
        make_json_route("about", lambda r: describe_server(runtime(), doors, r), "Who can be asked here, and how"),
        make_json_route("flows", lambda r: list_flows(runtime()), "The flows as pictures"),
        make_json_route("plugins", lambda r: list_plugins(runtime()), "The plugins, and what is wrong with them"),
        make_json_route("setup", lambda r: report_setup(runtime(), r), "What works here, and how to mend the rest"),
        make_json_route("prompts/{run}", list_prompts, "What a local model was asked in a run"),
        make_json_route(
            "wire/{thread}", lambda r: render_run_by_door(runtime(), doors, r), "A run as each door would write it"
        ),
        Route("POST", "/playground/setup", serve_probes, summary="Call every door as its client would"),
        Route("POST", "/playground/try", serve_trial, body_type=ToolTrial, summary="Call an operation by hand"),
        Route("POST", "/playground/search", serve_search, body_type=SearchForm, summary="Search the conversations"),
        *make_model_routes(runtime, model_control, stream_json_reply),
        # Last: matches every other path.
        Route("GET", "/playground/{name:path}", serve_file, public=True, summary="The playground's files"),
    )
    return Door("playground", routes, make_error_reply, lambda base: f"{base}/")
