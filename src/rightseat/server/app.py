"""The ASGI application: routes of all doors behind one guard and one authenticator, and the access log."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, unquote_plus

from rightseat.config.options import parse_options
from rightseat.config.settings import ServerSettings
from rightseat.errors import ConfigError, MethodNotAllowed, NotFound, RightseatError, make_internal_error
from rightseat.http.auth import LOCAL_OWNER, AppAuthenticator, Authenticator, FindUser
from rightseat.http.descriptors import DescriptorReserve, find_descriptor_error, make_descriptor_error
from rightseat.http.endpoint import BASE_URL, REQUEST_ID, Door, Request, Route, compile_path
from rightseat.http.fetch import AddressRules
from rightseat.http.forwarding import HeaderForwarding
from rightseat.http.refusals import current_refusals, report_refusal
from rightseat.http.reply import (
    DIRECT_EXTENSION,
    Headers,
    Receive,
    Reply,
    Send,
    SendTimeouts,
    make_empty_reply,
    send_reply,
)
from rightseat.http.security import RequestGuard, is_loopback, parse_host_header
from rightseat.runtime.incidents import RequestInfo, current_request, current_run
from rightseat.runtime.metrics import Metrics
from rightseat.server.openapi import make_openapi_door
from rightseat.server.operations import make_operations_door
from rightseat.server.playground.door import make_playground_door
from rightseat.server.playground.models import ModelControl
from rightseat.types.text import closest_match
from rightseat.types.turn import Owner
from rightseat.types.workers import run_sized
from rightseat.wiring.lookup import load_all
from rightseat.wiring.runtime import Runtime

if TYPE_CHECKING:
    from rightseat.server.workers.link import SupervisorLink

access_log = logging.getLogger("rightseat.access")
log = logging.getLogger(__name__)

# The client left before a response (nginx's code).
CLIENT_CLOSED = 499
CHAT_PATH = "/v1/chat/completions"
MIN_PATH_SIMILARITY = 0.7
"""How like a route's path an unknown path must be to be answered with it."""
# Well-known routes of other servers: the nearest name would send their clients to a route of another purpose.
_CHAT_INSTEAD = "is not served here: use /v1/chat/completions."
_NOTHING_INSTEAD = "There is no such service here."
UNSERVED_ROUTES = {
    **dict.fromkeys(("/v1/responses", "/responses"), f"OpenAI's Responses API {_CHAT_INSTEAD}"),
    **dict.fromkeys(("/v1/assistants", "/v1/threads"), f"OpenAI's Assistants API {_CHAT_INSTEAD}"),
    **dict.fromkeys(("/v1/messages", "/messages"), f"Anthropic's API {_CHAT_INSTEAD}"),
    **dict.fromkeys(("/api/generate", "/api/tags"), f"Ollama's API {_CHAT_INSTEAD}"),
    **dict.fromkeys(("/v1/images", "/v1/audio/speech", "/v1/moderations", "/v1/files"), _NOTHING_INSTEAD),
    **dict.fromkeys(("/v1/batches", "/v1/fine_tuning", "/v1/realtime", "/lora-adapters"), _NOTHING_INSTEAD),
}


class AccessLogEntry:
    """One request in log and metrics: no query, no body, of the owner only the kind. `path` is the route's template:
    a concrete path may hold a secret."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.status = CLIENT_CLOSED
        self.status_override: int | None = None
        self.code = ""
        """The code of the error that refused the request."""
        self.client = "-"
        self.owner = "-"
        self.started_at = time.perf_counter()

    def set_status(self, status: int) -> None:
        self.status = status

    def override_status(self, status: int) -> None:
        """Set the status to log where the response must be 200, as GraphQL clients require."""
        self.status_override = status

    def set_error(self, error: RightseatError) -> None:
        self.override_status(error.status)
        self.code = error.code

    def finish(self, meters: Metrics, *, write_log: bool) -> None:
        if self.status_override is not None and self.status < 400:
            self.status = self.status_override
        meters.requests.add(self.path, str(self.status))
        if write_log and access_log.isEnabledFor(logging.INFO):
            # In the order of the console.
            fields = {
                "method": self.method,
                "path": self.path,
                "status": self.status,
                "ms": round((time.perf_counter() - self.started_at) * 1000, 1),
                "owner": self.owner,
                "client": self.client,
                **({"code": self.code} if self.code else {}),
            }
            access_log.info("%s", " ".join(map(str, fields.values())), extra={"fields": fields})


Scope = MutableMapping[str, Any]
ENCODED_SLASH = "\udc2f"
"""Stands for a slash within a segment. No decoding of a path gives this character."""
RouteMatch = tuple[Door, Route, dict[str, str]]
NO_ROUTE = "(none)"
# Headers by which a proxy names the client that it stands in front of.
FORWARDING_HEADERS = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"})
# Keys of [server] that concern the process and not a request: no options of `asgi`.
PROCESS_KEYS = {"host", "port", "workers", "max_header_kb", "header_timeout", "grace", "max_runs", "mcp_allow"} | {
    "log",
    "log_level",
}
OPTIONS = sorted(set(ServerSettings.__struct_fields__) - PROCESS_KEYS - {"trace_content", "environment"})
REQUEST_ID_PATTERN = re.compile(r"[A-Za-z0-9._-]{1,64}")


def make_fetch_rules(settings: ServerSettings) -> AddressRules:
    try:
        return AddressRules(allow=settings.fetch_allow)
    except ConfigError as error:
        raise ConfigError(f"[server] fetch_allow: {error.message}") from error


class App:
    """`runtime` serves new requests; a reload replaces it, and running requests keep theirs."""

    def __init__(
        self,
        runtime: Runtime,
        settings: ServerSettings,
        doors: Sequence[Door],
        *,
        authenticate: Authenticator | None = None,
        is_mounted: bool = False,
    ) -> None:
        self.runtime = runtime
        self.is_mounted = is_mounted
        self.doors = doors
        self.descriptors = DescriptorReserve()
        self.worker: SupervisorLink | None = None
        """The supervisor of this process, if it is one of several workers."""
        self.setup_digest = ""
        """What tells this server from those of other set-ups, for `rightseat doctor`."""
        self.model_control: ModelControl | None = None
        """What changes the model of this process; None where the app is part of another one."""
        self.configure(settings, authenticate or Authenticator())

    def configure(self, settings: ServerSettings, authenticate: Authenticator, runtime: Runtime | None = None) -> None:
        """Apply `settings` and `authenticate` to every later request, at start and at each reload, and make the routes
        that `runtime` has of its own.

        Settings are read only here, so that a reload cannot forget one. Raises ConfigError for an invalid
        address, before anything is changed.
        """
        fetch_rules = make_fetch_rules(settings)
        guard = RequestGuard(settings, is_mounted=self.is_mounted)
        operations = make_operations_door(
            lambda: self.runtime,
            self.descriptors,
            lambda: self.worker,
            metrics=settings.metrics,
            get_setup=lambda: self.setup_digest,
        )
        playground = make_playground_door(
            lambda: self.runtime, self.doors, lambda: self.model_control, needs_key=authenticate.required
        )
        doors = add_own_routes([operations, *self.doors, playground], runtime or self.runtime)
        self.guard = guard
        self.authenticate = authenticate
        self.access_log = settings.access_log
        self.introspection = settings.introspection
        self.stream_arguments = settings.stream_arguments
        self.debug_events = settings.debug_events
        self.fetch_rules = fetch_rules
        self.graphql = settings.graphql
        self.forwarding = HeaderForwarding(settings.forward_headers)
        self.timeouts = SendTimeouts(settings.keep_alive, settings.send_timeout, settings.first_byte)
        self.table = RouteTable([*doors, make_openapi_door(doors)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = join_headers(scope["headers"])
        request_id = choose_request_id(headers)
        REQUEST_ID.set(request_id)
        extra: Headers = ((b"x-request-id", request_id.encode()),)
        path = get_path(scope)
        matches = self.table.match_request(scope, path)
        door, template = self.table.locate(path, matches)
        entry = AccessLogEntry(scope["method"], template)
        request_info, refusals = enter_request(scope["method"], path, template)
        # Until the Host is checked, links are relative: an error must not repeat a Host that is refused.
        BASE_URL.set(self.guard.public_url or scope.get("root_path", ""))
        try:
            try:
                base = request_info.base = self.resolve_base_url(scope, headers, entry)
                BASE_URL.set(base)
                if scope["method"] == "OPTIONS":
                    extra += self.guard.make_preflight_headers(headers, door.origins)
                    reply = make_empty_reply(204)
                else:
                    extra += self.check_origin(scope["method"], headers, door, matches)
                    browser = "text/html" in headers.get("accept", "") and not scope.get("query_string")
                    route, params = self.table.select_route(path, matches, scope["method"], browser=browser)
                    owner = await self.admit_request(scope, route, headers)
                    entry.owner = "open" if route.public else owner.name.partition(":")[0]
                    body = await self.guard.read_body(headers, receive)
                    if body is None:
                        return
                    request = self.make_request(scope, path, params, headers, body, owner, base, entry)
                    # A handler reads the body and starts nothing, so that a large body can be read in a thread.
                    reply = await run_sized(len(body), route.handler, request, self.runtime)
            except RightseatError as error:
                reply = self.fail_reply(door, error, headers, entry)
                if isinstance(error, MethodNotAllowed):
                    extra += ((b"allow", error.allow.encode()),)
            except Exception as error:
                log.exception("a request failed")
                told = find_descriptor_error(error) or make_internal_error(error)
                reply = self.fail_reply(door, told, headers, entry)
            if self.descriptors.exhausted:
                # The next connection needs the descriptor of this one.
                extra += ((b"connection", b"close"),)
            await send_reply(
                reply,
                receive,
                send,
                self.timeouts,
                headers=extra,
                on_start=entry.set_status,
                direct=scope.get("extensions", {}).get(DIRECT_EXTENSION, {}).get("write"),
                make_failure_reply=lambda error: self.fail_reply(door, error, headers, entry),
            )
        finally:
            entry.finish(self.runtime.meters, write_log=self.access_log)
            self.runtime.runs.report_refusals(refusals, request_info)

    def check_origin(self, method: str, headers: dict[str, str], door: Door, matches: Sequence[RouteMatch]) -> Headers:
        """Refuse what a foreign page sends; return the CORS headers of an allowed one."""
        return self.guard.check_origin(
            headers,
            has_body=has_body(method, headers),
            is_unsafe=method not in ("GET", "HEAD"),
            takes_form=any(route.takes_form for _, route, _ in matches),
            extra_origins=door.origins,
        )

    async def admit_request(self, scope: Scope, route: Route, headers: dict[str, str]) -> Owner:
        """Return who calls. Raises Unauthorized, and Unavailable where no descriptor is left for an answer."""
        # The connected peer, whatever it forwards: only a trusted proxy itself may name a user.
        owner = LOCAL_OWNER if route.public else await self.authenticate(headers, get_peer(scope))
        if self.descriptors.exhausted and route.method == "POST":
            raise make_descriptor_error()
        return owner

    @staticmethod
    def fail_reply(door: Door, error: RightseatError, headers: dict[str, str], entry: AccessLogEntry) -> Reply:
        entry.set_error(error)
        report_refusal(error)
        return format_error(door, error, headers)

    def make_request(
        self,
        scope: Scope,
        path: str,
        params: dict[str, str],
        headers: dict[str, str],
        body: bytes,
        owner: Owner,
        base: str,
        entry: AccessLogEntry,
    ) -> Request:
        return Request(
            method=scope["method"],
            path=path,
            params=params,
            query=parse_query(scope.get("query_string", b"").decode("latin-1")),
            headers=headers,
            body=body,
            owner=owner,
            id=REQUEST_ID.get(),
            base=base,
            public_key=self.authenticate.find_public_key(headers, owner),
            is_admin=self.is_admin(scope, headers, owner),
            introspection=self.introspection,
            stream_arguments=self.stream_arguments,
            debug_events=self.debug_events,
            fetch_rules=self.fetch_rules,
            graphql=self.graphql,
            forward=self.select_forwarded_headers,
            count=entry.override_status,
        )

    def is_admin(self, scope: Scope, headers: dict[str, str], owner: Owner) -> bool:
        """Whether the caller may change this server's model. Without keys: a client on this machine, which no proxy
        stands in front of."""
        if self.authenticate.required:
            return self.authenticate.is_admin(owner)
        host = parse_host_header(headers.get("host", "")) or ""
        is_forwarded = not FORWARDING_HEADERS.isdisjoint(headers)
        return is_loopback(get_peer(scope) or "") and is_loopback(host) and not is_forwarded

    def select_forwarded_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return self.forwarding.select_headers(headers, self.authenticate.list_credential_headers(headers))

    def resolve_base_url(self, scope: Scope, headers: dict[str, str], entry: AccessLogEntry) -> str:
        """Check the Host (of a trusted proxy, if any) and return this server's URL as the client sees it."""
        original = self.guard.proxies.read_forwarded(get_peer(scope) or "", scope.get("scheme", "http"), headers)
        entry.client = original.client or "-"
        if original.host is None:
            self.guard.check_host([v.decode("latin-1") for n, v in scope["headers"] if n == b"host"])
        else:
            self.guard.check_host([original.host])
            headers["host"] = original.host
        return self.guard.public_url or f"{original.scheme}://{headers['host']}{scope.get('root_path', '')}"


def enter_request(method: str, path: str, template: str) -> tuple[RequestInfo, list[RightseatError]]:
    """Make a request the current one of this task; return its info, and the list of what its client is told."""
    request_info, refusals = RequestInfo(method, path, template), list[RightseatError]()
    current_request.set(request_info)
    current_run.set(None)
    current_refusals.set(refusals)
    return request_info, refusals


def add_own_routes(doors: Sequence[Door], runtime: Runtime) -> list[Door]:
    """Return the doors with the routes that this runtime adds. Raises ConfigError for a path that another door has."""
    extended = []
    for door in doors:
        own_routes = door.make_routes(runtime)
        others = [route for other in doors if other is not door for route in other.routes if route.method == "POST"]
        for route in own_routes:
            if any(compile_path(other.path).fullmatch(route.path) for other in others):
                raise ConfigError(f"The path {route.path!r} of an assistant is used by another door. Choose another.")
        extended.append(replace(door, routes=(*own_routes, *door.routes)) if own_routes else door)
    return extended


def format_error(door: Door, error: RightseatError, headers: dict[str, str]) -> Reply:
    return door.format_error_for(error, headers) if door.format_error_for else door.format_error(error)


class RouteTable:
    """All routes by path. A known path with a wrong method is told apart from an unknown path."""

    def __init__(self, doors: Sequence[Door]) -> None:
        self.doors = doors
        self.routes = [(door, route, compile_path(route.path)) for door in doors for route in door.routes]
        # Paths without parameters are looked up. Only the others are matched by pattern, by their first segment, so
        # that a request is not matched against every door's patterns.
        self.static_routes: defaultdict[str, list[RouteMatch]] = defaultdict(list)
        self.routes_by_prefix: defaultdict[str, list[tuple[Door, Route, re.Pattern[str]]]] = defaultdict(list)
        for door, route, pattern in self.routes:
            first = route.path.split("/")[1]
            if "{" not in route.path:
                self.static_routes[route.path].append((door, route, {}))
            else:
                self.routes_by_prefix["" if "{" in first else first].append((door, route, pattern))

    def match_path(self, path: str) -> list[RouteMatch]:
        """Return the routes of a path, of any method, with the path's parameters."""
        candidates = chain.from_iterable(
            self.routes_by_prefix.get(first, ()) for first in dict.fromkeys((*path.split("/")[1:2], ""))
        )
        matches = ((door, route, pattern.fullmatch(path)) for door, route, pattern in candidates)
        matched = [(door, route, match.groupdict()) for door, route, match in matches if match]
        return self.static_routes.get(path, []) + matched

    def match_request(self, scope: Scope, path: str) -> list[RouteMatch]:
        """Return the routes of a request's path. A slash that the client has encoded belongs to its segment: the name
        of a thread may have one. Where no route matches so, such a slash separates segments."""
        marked = mark_encoded_slashes(scope, path)
        if marked != path and (matches := self.match_path(marked)):
            return [
                (door, route, {name: value.replace(ENCODED_SLASH, "/") for name, value in params.items()})
                for door, route, params in matches
            ]
        return self.match_path(path)

    def locate(self, path: str, matches: Sequence[RouteMatch]) -> tuple[Door, str]:
        """Return the door and the route template of a path. An unknown path belongs to the door with the same
        first segment, so that the client can read the error."""
        for door, route, _ in matches:
            return door, route.path
        first = path.split("/")[1:2]
        same_prefix = ((door, NO_ROUTE) for door, route, _ in self.routes if route.path.split("/")[1:2] == first)
        return next(same_prefix, (self.doors[0], NO_ROUTE))

    def select_route(
        self, path: str, matches: Sequence[RouteMatch], method: str, *, browser: bool
    ) -> tuple[Route, dict[str, str]]:
        """Return the route for a method and its parameters. Raises MethodNotAllowed or NotFound."""
        matches = [match for match in matches if browser or not match[1].browser_only]
        for _, route, params in matches:
            if route.method == method or (route.method == "GET" and method == "HEAD"):
                return route, params
        if matches:
            allowed = ", ".join(sorted({route.method for _, route, _ in matches}))
            raise MethodNotAllowed(f"{path[:100]} takes {allowed}.", allow=allowed)
        near = find_advice(path) or self.suggest_path(path)
        raise NotFound(f"There is nothing at {path[:100]!r}.{near}")

    def suggest_path(self, path: str) -> str:
        """Return a question for the path that was meant: the start of the chat's path is continued, any other path
        must be near a route's; empty if none is."""
        paths = [route.path for _, route, _ in self.routes]
        start = path.rstrip("/")
        continues = start not in ("", CHAT_PATH) and CHAT_PATH.startswith(f"{start}/") and CHAT_PATH in paths
        near = CHAT_PATH if continues else closest_match(path, paths, cutoff=MIN_PATH_SIMILARITY)
        return f" Did you mean {near}?" if near else ""


def find_advice(path: str) -> str:
    """Return what to do instead of asking for a well-known route that is not served; empty for any other path."""
    return next((f" {advice}" for prefix, advice in UNSERVED_ROUTES.items() if f"{path}/".startswith(f"{prefix}/")), "")


def get_path(scope: Scope) -> str:
    """Return the path below the prefix that this app is mounted at.

    `path` begins with `root_path`, or with the part of it that is our mount (`app_root_path` is the outer app's)
    where a proxy has removed the outer app's prefix, or with neither where the outer app removes both.
    """
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    for prefix in (root, root.removeprefix(scope.get("app_root_path", ""))):
        if prefix and path.startswith(f"{prefix}/"):
            return path[len(prefix) :]
    return path if path != root or not root else "/"


def mark_encoded_slashes(scope: Scope, path: str) -> str:
    """Return a request's decoded path with another character for each slash that the client has encoded."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2" not in raw or b"%2f" not in raw.lower():
        return path
    segments = raw.partition(b"?")[0].decode("latin-1").split("/")
    # Decoded, both have the same length: what is before the path is the prefix of a mount.
    marked = "/".join(unquote(segment).replace("/", ENCODED_SLASH) for segment in segments)[-len(path) :]
    return marked if marked.replace(ENCODED_SLASH, "/") == path else path


def parse_query(text: str) -> dict[str, str]:
    """Return the parameters of a query. One without a value counts only where it is written without "="."""
    flags = (part for part in text.split("&") if part and "=" not in part)
    return {**{unquote_plus(flag): "" for flag in flags}, **dict(parse_qsl(text))}


def choose_request_id(headers: Mapping[str, str]) -> str:
    """Return the client's id of a request, or a new one where it has none or one that no log should have."""
    client_id = headers.get("x-request-id", "")
    return client_id if REQUEST_ID_PATTERN.fullmatch(client_id) else secrets.token_hex(8)


def get_peer(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


def join_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name, repeated ones joined: a check and its user must see the same value."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def has_body(method: str, headers: dict[str, str]) -> bool:
    return method not in ("GET", "HEAD") and (
        headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    )


class MountableApp:
    """ASGI app for another app to mount. The first request starts the runtime, unless somebody has started it.

    A mounted app gets no lifespan events. Where this app is the outermost one, its lifespan starts and closes
    the runtime; otherwise whoever made the runtime closes it.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        runtime = self.app.runtime
        if scope["type"] != "lifespan":
            if not (runtime.is_started or runtime.is_closed):
                await runtime.start()
            await self.app(scope, receive, send)
            return
        await receive()
        started_here = not runtime.is_started
        try:
            await runtime.start()
        except RightseatError as error:
            await send({"type": "lifespan.startup.failed", "message": error.message})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if started_here:
            await runtime.drain(0)
            await runtime.close()
        await send({"type": "lifespan.shutdown.complete"})


def asgi(runtime: Runtime, *, authenticate: Authenticator | FindUser | None = None, **options: Any) -> MountableApp:
    """Make an ASGI app of every door: `app.mount("/copilot", rightseat.asgi(runtime))` in FastAPI or Starlette.

    `authenticate` is a function of yours, plain or async: it gets the request's headers (names in lower case) and
    returns the user's name, or None where nobody is logged in. `options` are the keys of [server] that concern
    requests, such as `cors`. Without `authenticate` whoever reaches the app is let in, and so only loopback is answered
    unless `hosts` names more: a stranger's page could call from a browser.
    """
    if authenticate is not None and not isinstance(authenticate, Authenticator):
        authenticate = AppAuthenticator(authenticate)
    defaults = {"hosts": ("*",) if authenticate else ()}
    settings = parse_options("asgi()", options, ServerSettings, defaults=defaults, known=OPTIONS)
    return MountableApp(App(runtime, settings, load_all("doors"), authenticate=authenticate, is_mounted=True))
