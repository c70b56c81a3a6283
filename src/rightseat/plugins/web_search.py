"""`web_search` (Brave) and `wolfram_alpha`: built-in tools that ask a service of the web with the operator's key."""

from __future__ import annotations

import asyncio
import html
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.errors import ConfigError
from rightseat.http.client import HttpClient, format_request_head, parse_base_url
from rightseat.tools.text_calls.builtin import builtin_schema
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext, error_result

SECONDS = 20.0
MAX_BODY = 2 << 20
RESULTS = 8
MAX_QUERY = 400
_TAGS = re.compile(r"<[^>]{0,100}>")


class SearchService(Struct, frozen=True, kw_only=True):
    """A service that answers one text; `make_query` and `key_header` say where text and key go."""

    key_variable: str
    url_variable: str
    url: str
    description: str
    make_query: Callable[[str, str], Mapping[str, str]]
    """Takes the text and the key; returns the query of the address."""
    key_header: str = ""
    read: Callable[[bytes], str]


class BraveResult(Struct):
    title: str = ""
    url: str = ""
    description: str = ""


class BraveResults(Struct):
    results: list[BraveResult] = []


class BraveAnswer(Struct):
    web: BraveResults | None = None


def read_brave(body: bytes) -> str:
    results = (msgspec.json.decode(body, type=BraveAnswer).web or BraveResults()).results[:RESULTS]
    texts = (f"{_to_plain(item.title)}\n{item.url}\n{_to_plain(item.description)}" for item in results)
    return "\n\n".join(texts) or "Nothing was found."


def _to_plain(text: str) -> str:
    return html.unescape(_TAGS.sub("", text))[:1000]


BRAVE = SearchService(
    key_variable="BRAVE_API_KEY",
    url_variable="BRAVE_SEARCH_URL",
    url="https://api.search.brave.com/res/v1/web/search",
    description="Executes a web search with Brave and returns titles, addresses and excerpts.",
    make_query=lambda text, key: {"q": text, "count": str(RESULTS)},
    key_header="X-Subscription-Token",
    read=read_brave,
)
WOLFRAM = SearchService(
    key_variable="WOLFRAM_APP_ID",
    url_variable="WOLFRAM_ALPHA_URL",
    url="https://www.wolframalpha.com/api/v1/llm-api",
    description="Executes a query with Wolfram Alpha: computations, units, facts of science and geography.",
    make_query=lambda text, key: {"input": text, "appid": key, "maxchars": "6000"},
    read=lambda body: body.decode("utf-8", "replace"),
)
SERVICES = {"web_search": BRAVE, "brave_search": BRAVE, "wolfram_alpha": WOLFRAM}


def make_search_tool(name: str) -> Tool:
    """Make the tool of a service; ConfigError without a key."""
    service = SERVICES[name]
    key = os.environ.get(service.key_variable, "")
    if not key:
        raise ConfigError(f"{name} needs a key: set {service.key_variable} in the environment, or leave the tool out.")
    url = parse_base_url(os.environ.get(service.url_variable) or service.url, service.url_variable)
    client = HttpClient(url, connect_timeout=10)

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        yield await ask_service(service, client, url, key, args["query"][:MAX_QUERY])

    async def close() -> None:
        client.close()

    schema = builtin_schema(name) or {}
    return Tool(name, service.description, schema, call=call, effect="reads", untrusted=True, close=close)


async def ask_service(service: SearchService, client: HttpClient, url: URL, key: str, text: str) -> Result:
    headers = {"Accept": "*/*"} | ({service.key_header: key} if service.key_header else {})
    head = format_request_head("GET", url.update_query(service.make_query(text, key)), headers)
    deadline = asyncio.get_running_loop().time() + SECONDS
    try:
        async with asyncio.timeout_at(deadline):
            response = await client.send(head, None, deadline)
            try:
                await response.wait_for_head()
                body = await response.read_body(MAX_BODY)
            finally:
                response.close()
    except OSError:  # TimeoutError too
        return error_result("search_failed", "The service did not answer. Go on without it, or try again later.")
    if response.status != 200:
        # Nothing of the body: it may repeat the key.
        why = f"The service answered with HTTP {response.status}."
        return error_result("search_failed", f"{why} Put the question in other words, or go on without it.")
    try:
        return Result(service.read(body))
    except msgspec.MsgspecError:
        return error_result("search_failed", "The answer of the service cannot be read. Go on without it.")
