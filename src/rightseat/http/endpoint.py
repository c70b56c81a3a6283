"""Doors: routes that parse a request into a Turn and write its events as a reply, and the format of errors.

A door knows no model and no socket; `Host` is all that it sees of the Runtime.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Callable, Container, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote

import msgspec
from msgspec import Struct, inspect

from rightseat.config.settings import GraphQLLimits
from rightseat.errors import CallerError, RightseatError, UpstreamGarbled, error_class_for
from rightseat.http.fetch import AddressRules
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import SseParser
from rightseat.tools.text_calls.builtin import with_builtin_schema
from rightseat.types.agent_card import AgentCard
from rightseat.types.agents import AgentThreadState, Responder
from rightseat.types.events import Event, RunFailed, Usage
from rightseat.types.live import LivePlane
from rightseat.types.model import Prompt, ToolSpec
from rightseat.types.schema import get_validator
from rightseat.types.speech import Transcript, TranscriptionRequest
from rightseat.types.threads import NumberedEntry, ThreadEntry, ThreadStore
from rightseat.types.tools import Tool
from rightseat.types.turn import Feedback, Owner, Turn

T = TypeVar("T")
ErrorLike = RightseatError | RunFailed
SSE_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
# The id of the current request, for the log.
REQUEST_ID: ContextVar[str] = ContextVar("request", default="")
# This server's URL as the client of the current request sees it, without a trailing slash.
BASE_URL: ContextVar[str] = ContextVar("base_url", default="")
TRACE_HEADERS = ("traceparent", "tracestate")
_MISSING_FIELD = re.compile(r"Object missing required field `([^`]+)`")
# A field or an index in the place of a validation error, such as `messages[0].role`.
_PLACE_STEPS = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
ID_PATTERN = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


class AssistantInfo(Protocol):
    """An assistant or agent as doors describe it to clients."""

    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def image(self) -> str: ...
    @property
    def card(self) -> AgentCard: ...  # what its author says of it to OpenBB Workspace
    @property
    def tools(self) -> tuple[Tool, ...]: ...
    @property
    def context(self) -> int | None: ...
    @property
    def context_window(self) -> int | None: ...  # in tokens: configured (`context`), else as the model reports it
    @property
    def suggestions(self) -> tuple[str, ...]: ...  # suggested questions
    @property
    def server_tools(self) -> Container[str]: ...  # names of the tools that run on this server, offered or not
    @property
    def groups(self) -> dict[str, str]: ...  # plugins that a turn can be limited to: id → name
    @property
    def supports_images(self) -> bool: ...  # whether the model takes images
    @property
    def needs_rules(self) -> bool: ...  # whether the model is too small to choose among tools and to compute
    @property
    def has_file_tools(self) -> bool: ...  # whether any tools may take attached files


class ThreadService(Protocol):
    """Stored threads, and runs that outlive their client."""

    @property
    def store(self) -> ThreadStore: ...
    @property
    def plane(self) -> LivePlane | None: ...  # to other workers; None where one process is alone
    @property
    def is_leaving(self) -> bool: ...  # whether this process is about to end

    async def start(self, turn: Turn, respond: Responder, /) -> AsyncIterator[NumberedEntry]:
        """Start a run on its thread and return its entries; Conflict while another run is active."""

    def follow(self, owner: Owner, thread: str, after: int = 0, /) -> AsyncIterator[NumberedEntry]:
        """Return a thread's entries after a number, then those of its active run; none if unknown."""

    async def read_run_until(self, owner: Owner, thread: str, number: int, /) -> list[ThreadEntry]:
        """Return the entries up to a number of the run that the number belongs to."""

    async def stop(self, owner: Owner, thread: str, /) -> bool: ...
    async def delete(self, owner: Owner, thread: str, /) -> bool: ...


class ResourceFile(Struct, frozen=True):
    """A file that clients may read."""

    name: str
    description: str
    media_type: str
    path: Path


class PluginInfo(Struct, frozen=True):
    """A plugin as doors list it."""

    id: str
    name: str
    description: str
    question: str = ""
    """Its suggested question."""


class Host(Protocol):
    """The part of the Runtime that doors see."""

    @property
    def threads(self) -> ThreadService: ...
    @property
    def responders(self) -> Mapping[str, Responder]: ...
    @property
    def tools(self) -> Mapping[str, Tool]: ...  # those that a client may call: plugins' operations, scripts, flows
    @property
    def resources(self) -> Mapping[str, ResourceFile]: ...  # flow files that clients may read, by URI
    @property
    def suggested_questions(self) -> Mapping[str, str]: ...  # by plugin

    def list_plugins(self) -> list[PluginInfo]: ...
    def run(self, turn: Turn, /) -> AsyncIterator[Event]: ...
    def describe(self, name: str, /) -> AssistantInfo | None: ...

    async def recall(self, name: str, owner: Owner, thread: str, /) -> AgentThreadState | None:
        """Return what an agent itself has stored of a thread, or None."""

    def resolve_responder(self, name: str | None, /) -> str | None:
        """Return the responder that a client means by a model name; None means the default."""

    def resolve_model(self, name: str | None, /) -> str | None:
        """Return MODEL of ASSISTANT/MODEL where the assistant lets clients choose, else None."""

    def fills_empty_question(self, turn: Turn, /) -> bool:
        """Whether a turn without a question is answered: a flow, or a plugin with a predefined question, has one."""

    async def report_feedback(self, feedback: Feedback, /) -> None: ...  # to the operator's hook

    def get_fingerprint(self, name: str | None, /) -> str:
        """Return a short hash of a responder's model, instructions and tools; it changes when its answers may."""

    def list_models(self, name: str | None, /) -> tuple[str, ...]: ...  # those that a client may choose
    def is_plain_model(self, name: str | None, /) -> bool: ...  # a bare model: no instructions, no tools
    def supports_completion(self, name: str | None, /) -> bool: ...  # of raw text: a turn may be `raw`
    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner, /) -> dict[str, Any]: ...

    @property
    def transcribers(self) -> Mapping[str, object]: ...  # models that write down speech
    async def transcribe(self, name: str | None, request: TranscriptionRequest, owner: Owner, /) -> Transcript: ...

    async def rerank(
        self, name: str | None, query: str, documents: list[str], owner: Owner, /
    ) -> tuple[list[float], Usage]: ...

    async def render_prompt(self, name: str | None, prompt: Prompt, /) -> str:
        """Return the text that a local model's chat template makes of a prompt."""

    async def get_engine_props(self, name: str | None, /) -> dict[str, Any]: ...  # of a local model
    async def list_engine_slots(self, name: str | None, /) -> list[dict[str, Any]]: ...

    async def tokenize(self, name: str | None, text: str, /, *, add: bool, special: bool, pieces: bool) -> list[Any]:
        """Return the model's token ids of a text, or with `pieces` objects of id and text."""

    async def detokenize(self, name: str | None, tokens: list[int], /) -> str: ...


class Request(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    params: dict[str, str]
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    owner: Owner
    id: str
    base: str = ""  # this server's URL as the client sees it, without a trailing slash
    public_key: str = ""  # CopilotKit's public API key of the page, where it is no key of this server
    is_admin: bool = False  # whether the caller may change this server's model: on this machine without keys, or named
    introspection: bool = False  # whether GraphQL introspection is allowed
    debug_events: bool = False  # whether CopilotKit's inspector may follow all runs
    stream_arguments: bool = False  # whether the OpenAI door streams arguments as they come
    graphql: GraphQLLimits = GraphQLLimits()
    fetch_rules: AddressRules = AddressRules()  # which addresses that a body names may be fetched
    forward: Callable[[Mapping[str, str]], dict[str, str]] = lambda headers: {}
    """Selects the headers that agents and tools may see."""
    count: Callable[[int], None] = lambda status: None
    """Sets the status for access log and metrics where the reply's own status must be 200."""

    @property
    def trace_headers(self) -> dict[str, str]:
        """The W3C trace context headers."""
        return {name: self.headers[name] for name in TRACE_HEADERS if name in self.headers}

    @property
    def forwarded_headers(self) -> dict[str, str]:
        """The headers for agents and tools, trace context included."""
        return self.forward(self.headers) | self.trace_headers


@dataclass(frozen=True, slots=True)
class Route:
    """`handler` parses the request before it returns the reply, so that a bad request gets an error status.
    `public` routes need no key."""

    method: str
    path: str
    handler: Callable[[Request, Host], Reply]
    public: bool = False
    takes_form: bool = False  # a page may send multipart/form-data, not only JSON
    browser_only: bool = False  # only for browser navigation; other clients get the next route of the same path
    body_type: type[Struct] | None = None  # the request body, for the OpenAPI document
    summary: str = ""
    returns_204: bool = False
    returns_202: bool = False  # may answer 202, where the request needs no response


def compile_path(path: str) -> re.Pattern[str]:
    """Compile a route's path: `{name}` matches one segment, `{name:path}` the rest."""
    whole = re.sub(r"\\\{(\w+):path\\\}", r"(?P<\1>.+)", re.escape(path))
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", whole))


@dataclass(frozen=True, slots=True)
class Probe:
    """A small real request by which `rightseat doctor` tests a door.

    `check` takes the status, the headers (lower-case names) and the whole body; it returns a problem or None.
    """

    name: str
    method: str
    path: str
    check: Callable[[int, Mapping[str, str], bytes], str | None]
    body: bytes = b""
    public: bool = False  # the route needs no key
    optional: bool = False  # 404 is no failure: a server may lack this route
    get_left_thread: Callable[[bytes], str | None] = lambda body: None
    """Returns the path of the thread that the request has left in the store; `doctor` deletes it."""


def describe_error(status: int, body: bytes, protocol: str, *path: str) -> str:
    """Describe an error response to a probe. `path` leads to the message in the JSON body."""
    try:
        message = msgspec.json.decode(body)
        for key in path:
            message = message[key]
    except (msgspec.MsgspecError, LookupError, TypeError, UnicodeDecodeError):
        return f"HTTP {status}, and no error in {protocol}'s shape"
    return f"HTTP {status}: {message}"


def is_event_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").startswith("text/event-stream")


def decode_event_stream(body: bytes) -> list[dict[str, Any]] | None:
    """Decode the objects of all events; return None if the stream cannot be read."""
    parser = SseParser()
    try:
        return [msgspec.json.decode(data, type=dict[str, Any]) for data in (*parser.feed(body), *parser.close())]
    except (msgspec.MsgspecError, UnicodeDecodeError, UpstreamGarbled):
        return None


@dataclass(frozen=True, slots=True)
class Door:
    """`format_error` writes an error as this door's clients expect it; `hint` is shown at start-up, unless empty."""

    name: str
    routes: tuple[Route, ...]
    format_error: Callable[[RightseatError], Reply]
    hint: Callable[[str], str]
    probes: tuple[Probe, ...] = ()
    format_error_for: Callable[[RightseatError, dict[str, str]], Reply] | None = None
    """As `format_error`, where the format depends on the request's headers."""
    keyed_hint: Callable[[str], str] | None = None
    """As `hint`, for a server that needs a key: the line has it as the variable RIGHTSEAT_KEY."""
    make_routes: Callable[[Host], tuple[Route, ...]] = lambda host: ()
    """Makes the routes that only a set-up has, such as an assistant's own path; they go before `routes`."""
    origins: tuple[str, ...] = ()  # origins of the door's own clients, allowed besides [server] cors

    def make_hint(self, base: str, *, needs_key: bool) -> str:
        """Return the line that connects a client; empty where the door has none."""
        return self.keyed_hint(base) if needs_key and self.keyed_hint else self.hint(base)


async def make_reply(
    status: int, body: bytes, *headers: tuple[bytes, bytes], content_type: bytes = b"application/json"
) -> Reply:
    """Make a reply of one part."""
    yield make_full_response(status, body, *headers, content_type=content_type)


def make_full_response(
    status: int, body: bytes, *headers: tuple[bytes, bytes], content_type: bytes = b"application/json"
) -> ResponseStart:
    length = (b"content-length", b"%d" % len(body))
    return ResponseStart(status, ((b"content-type", content_type), length, *headers), body=body)


async def collect_reply(reply: Reply) -> tuple[ResponseStart, bytes]:
    """Return the start and the whole body of a reply."""
    start, pieces = ResponseStart(500), []
    async for part in reply:
        if isinstance(part, ResponseStart):
            start = part
            pieces.append(part.body or b"")
        elif isinstance(part, bytes):
            pieces.append(part)
    return start, b"".join(pieces)


async def collect_body(reply: Reply) -> bytes:
    """Return the whole body of a reply."""
    return (await collect_reply(reply))[1]


def format_error_headers(error: ErrorLike) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of an error: when to come back, or that official clients must not, and a link to its page."""
    after = error.retry_after
    wait = () if after is None else ((b"retry-after", str(max(1, math.ceil(after))).encode()),)
    if error.after_effect:
        wait = ((b"x-should-retry", b"false"),)
    url = get_error_url(error)
    return (*wait, (b"link", f'<{url}>; rel="help"'.encode())) if url else wait


def get_error_url(error: ErrorLike) -> str:
    """Return the address of an error's page, as the client of the current request sees it; empty if the code is not
    one of ours, such as that of a remote agent."""
    kind = error_class_for(error.code, error.fault)
    return f"{BASE_URL.get()}{kind.link()}" if kind.code == error.code else ""


# Runs of escaped UTF-16 surrogates. The expression begins with literals, by which `re` finds them quickly.
_SURROGATE_ESCAPES = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}(?:\\u[dD][89a-fA-F][0-9a-fA-F]{2})*")
_ESCAPE_LENGTH = 6


def _replace_lone_surrogates(match: re.Match[bytes]) -> bytes:
    start = match.start()
    while start and match.string[start - 1] == ord("\\"):
        start -= 1
    # After an odd number of backslashes the first one is no escape: its backslash is escaped itself.
    literal = _ESCAPE_LENGTH * ((match.start() - start) % 2)
    text = match[0][literal:].decode("unicode_escape")
    mended = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return match[0][:literal] + mended.encode()


def decode_body(body: bytes, type_: type[T]) -> T:
    """Decode a JSON body into a type; raises CallerError that names the place."""
    try:
        return _decode_json(body, type_)
    except CallerError:
        # Browsers escape a lone surrogate where a text was cut inside an emoji.
        if (mended := _SURROGATE_ESCAPES.sub(_replace_lone_surrogates, body)) == body:
            raise
    return _decode_json(mended, type_)


def _decode_json(body: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.ValidationError as error:
        raise to_caller_error(error, type_) from None
    except msgspec.DecodeError as error:
        raise CallerError(f"The body is not valid JSON: {error}") from None
    except (RecursionError, UnicodeDecodeError):
        raise CallerError("The body is not readable JSON: it is nested too deeply or not UTF-8.") from None


def to_caller_error(error: msgspec.ValidationError, type_: Any) -> CallerError:
    """Return an error that names the field that is wrong, and the values that it takes where these are few."""
    problem, _, place = str(error).partition(" - at ")
    param = place.strip("`").removeprefix("$").lstrip(".")
    if missing := _MISSING_FIELD.fullmatch(problem):
        param = f"{param}.{missing[1]}".lstrip(".")
        return CallerError(f"{param}: this field is missing. Send it.", param=param)
    if problem.startswith("Invalid") and (choices := list_choices(type_, param)):
        problem = f"{problem}. Send one of: {', '.join(choices)}."
    return CallerError(f"{param}: {problem}" if param else problem, param=param or None)


def list_choices(type_: Any, param: str) -> list[str]:
    """List the texts that the field at a place of a type is limited to; empty if there are none."""
    nodes = _split_union(_inspect_type(type_))
    for index, name in _PLACE_STEPS.findall(param):
        structs = [node for node in nodes if isinstance(node, inspect.StructType)]
        if tags := [str(struct.tag) for struct in structs if name and struct.tag_field == name]:
            return tags
        nodes = [found for node in nodes for inner in _enter(node, name, index) for found in _split_union(inner)]
    return [str(value) for node in nodes if isinstance(node, inspect.LiteralType) for value in node.values]


@cache
def _inspect_type(type_: Any) -> inspect.Type:
    return inspect.type_info(type_)


def _split_union(node: inspect.Type) -> list[inspect.Type]:
    return list(node.types) if isinstance(node, inspect.UnionType) else [node]


def _enter(node: inspect.Type, name: str, index: str) -> list[inspect.Type]:
    """Return the types of a field or an item of a type."""
    match node:
        case inspect.StructType() if name:
            return [field.type for field in node.fields if field.encode_name == name]
        case inspect.ListType() | inspect.VarTupleType() if index:
            return [node.item_type]
        case inspect.DictType() if index:
            return [node.value_type]
        case _:
            return []


def make_tool_spec(name: str, description: str | None, parameters: dict[str, Any] | None, place: str) -> ToolSpec:
    """Make the spec of a client's tool; a bad schema raises CallerError that names `place`."""
    schema = parameters or {"type": "object", "properties": {}}
    spec = with_builtin_schema(ToolSpec(name, description or "", schema))
    try:
        get_validator(spec.parameters)
    except CallerError as error:
        raise CallerError(f"{place}.parameters: {error.message}", param=f"{place}.parameters") from None
    return spec


def parse_plugins_header(request: Request) -> tuple[str, ...]:
    """Return the plugins that the X-Plugins header limits a request to."""
    named = unquote(request.headers.get("x-plugins", ""))
    return tuple(name.strip() for name in named.split(",") if name.strip())


def parse_id_header(request: Request, name: str) -> str | None:
    """Return an id from a header, or None; raises CallerError for other than a plain name. An empty header is none:
    front ends send one whose template has no value."""
    value = request.headers.get(name) or None
    if value is not None and not ID_PATTERN.fullmatch(value):
        raise CallerError(f"{name}: use letters, digits and . _ : @ - only, at most 128 of them.", param=name)
    return value
