"""Values that a plugin folder is read into: Plugin, auth, scripts, operations, flows, problems; and tool names."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from rightseat.config.secret import Secret
from rightseat.types.tools import Effect

Gravity = Literal["error", "warning", "style"]
MAX_SENTENCE_LENGTH = 800


class Problem(Struct, frozen=True):
    """A problem of a plugin's files. An error disables the plugin, operation, tool or flow that it is in; a
    warning was repaired or ignored; style is for authors (`--strict`)."""

    file: str
    """Path within the plugin's folder, such as `openapi.yaml`."""
    key: str
    """Key path in the file, such as `paths./hosts.get.parameters[0]`."""
    what: str
    fix: str
    line: int = 0
    """Line from 1; 0 if unknown."""
    gravity: Gravity = "error"

    def __post_init__(self) -> None:
        for name in ("what", "fix"):
            if len(sentence := getattr(self, name)) > MAX_SENTENCE_LENGTH:
                force_setattr(self, name, f"{sentence[:600]} … {sentence[-150:]}")

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        key = f"{self.key}: " if self.key else ""
        return f"{place}: {key}{self.what} {self.fix}"


PathKey = str | int
KeyPath = tuple[PathKey, ...]
MAX_PATH_LENGTH = 200


def format_path(path: Sequence[PathKey]) -> str:
    """Format a key path, such as `paths./hosts.get.parameters[0]`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")[:MAX_PATH_LENGTH]


ParameterLocation = Literal["path", "query", "header", "cookie"]
ParameterStyle = Literal["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"]
BINARY_FORMAT = "binary"
"""The `format` of a string that names a file attached by the user."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter. `argument` is its key in the tool's arguments: its name, unless two share it."""

    name: str
    argument: str
    place: ParameterLocation
    schema: dict[str, Any]
    required: bool = False
    style: ParameterStyle = "form"
    explode: bool = True
    reserved: bool = False
    """Reserved characters are sent as they are (`allowReserved`)."""
    media: str = ""
    """Media type of the value where the document gives `content` instead of `schema`."""


class Encoding(Struct, frozen=True, kw_only=True):
    """Encoding of one form field."""

    media: str = ""
    style: ParameterStyle = "form"
    explode: bool = True
    headers: dict[str, str] = {}


class RequestBody(Struct, frozen=True, kw_only=True):
    """A request body. `fields` maps each property to an argument; if empty, the whole body is `argument`."""

    media: str
    schema: dict[str, Any]
    required: bool = False
    fields: dict[str, str] = {}
    argument: str = "body"
    encodings: dict[str, Encoding] = {}


class OperationResponse(Struct, frozen=True, kw_only=True):
    """A response. `status` is as in the document: "200", "2XX", "default"."""

    status: str
    description: str = ""
    media: str = ""
    schema: dict[str, Any] | None = None


class ApiServer(Struct, frozen=True, kw_only=True):
    """A server. `url` is absolute, with its variables filled in."""

    url: str
    description: str = ""


class Operation(Struct, frozen=True, kw_only=True):
    id: str
    """Name in flows: "GET /hosts/{id}"."""
    name: str
    """Name for models: unique in its plugin, letters, digits and _."""
    method: str
    path: str
    description: str
    """Description of operation, body and response, for the model."""
    arguments: dict[str, Any]
    """One JSON Schema object over all parameters and the body."""
    parameters: tuple[Parameter, ...] = ()
    body: RequestBody | None = None
    responses: tuple[OperationResponse, ...] = ()
    servers: tuple[ApiServer, ...] = ()
    dangerous: bool = False
    secured: tuple[str, ...] = ()
    """Arguments that the plugin's auth fills with a credential: hidden from the model."""
    line: int = 0


AuthKind = Literal["header", "param", "cookie", "oidc"]


class PluginAuth(Struct, frozen=True, kw_only=True):
    """One authentication method. `args` hold names and values as in the file: a reference (`env:NAME`,
    `file:PATH`) is resolved when a call is made, never by a check."""

    kind: AuthKind
    args: dict[str, Secret] = {}
    options: dict[str, Any] = {}
    """Only oidc: token_url, client_id, client_secret, scope, audience, grant, header, expires_minutes …"""


class PluginScript(Struct, frozen=True, kw_only=True):
    """A tool of lib/, found without running it."""

    name: str
    description: str
    file: Path
    attribute: str
    kind: Literal["class", "function"]
    arguments: dict[str, Any]
    exact: bool = True
    """Whether `arguments` is complete; otherwise the child process is asked for the schema."""
    dangerous: bool = False
    """Whether each call needs the user's approval."""
    effect: Effect = "writes"
    line: int = 0


START, END = "start", "end"


class Step(Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    """The file's `call_type`: one of the step kinds, or the name of a tool of lib/."""
    params: dict[str, Any] = {}
    next: str | None = None
    on_error: Step | None = None
    retry: int | None = None
    """Attempts after the first, with the retries of its HTTP requests; None leaves those to the plugin's policy."""
    timeout: float | None = None
    confirm: bool = False
    """A person must approve before it runs."""
    repeatable: bool | None = None
    """Whether it may run twice after a crash; overrides the step kind."""
    line: int = 0


class NextFlow(Struct, frozen=True, kw_only=True):
    """A follow-up flow to suggest. A question given in the file is shown unchanged."""

    flow: str
    plugin: str = ""
    question: str = ""
    line: int = 0


class Flow(Struct, frozen=True, kw_only=True):
    plugin: str
    """The plugin's id."""
    name: str
    """Unique in its plugin; the file's `name`, or `id` in later files."""
    description: str
    steps: dict[str, Step]
    """In the file's order."""
    on_error: Step | None = None
    next_flow: tuple[NextFlow, ...] = ()
    max_steps: int = 100
    timeout: float = 600.0
    file: str = ""
    """Path within the plugin's folder; empty for a flow made of an operation (`automatic_flow`)."""
    digest: str = ""
    """Hash of what the flow does: a paused run resumes only if it is unchanged."""

    @property
    def id(self) -> str:
        return f"{self.plugin}/{self.name}"


class Plugin(Struct, frozen=True, kw_only=True):
    id: str
    """The folder's name."""
    folder: Path
    name: str
    description: str
    alias: str = ""
    """The `id` of plugin.json where it differs."""
    question: str = ""
    """Replaces an empty question of the user; elsewhere a suggestion."""
    automatic_flow: bool = False
    auth: tuple[PluginAuth, ...] = ()
    operations: tuple[Operation, ...] = ()
    scripts: tuple[PluginScript, ...] = ()
    flows: tuple[Path, ...] = ()
    """Files of the flows."""
    workflows: tuple[Flow, ...] = ()
    """Flows that can run, and one per operation where `automatic_flow` is set."""
    files: tuple[Path, ...] = ()
    """All files to watch for changes, whether they could be read or not."""
    problems: tuple[Problem, ...] = ()


MAX_TOOL_NAME_LENGTH = 64
HASH_LENGTH = 6
DISALLOWED = re.compile(r"[^a-zA-Z0-9_-]+")


def make_tool_name(plugin: str, tool: str, taken: Container[str] = ()) -> str:
    """Return `{plugin}_{tool}` in ASCII letters, digits, _ and -, at most 64 long and not in `taken`.

    Other characters and overlong names are replaced by a hash of the original, so that names stay unique and
    stable.
    """
    first, second = make_ascii_word(plugin, "p"), make_ascii_word(tool, "t")
    name = f"{first}_{second}"
    if len(name) <= MAX_TOOL_NAME_LENGTH and name not in taken:
        return name
    mark = hash_text(f"{plugin}\0{tool}")
    return f"{name[: MAX_TOOL_NAME_LENGTH - HASH_LENGTH - 1].rstrip('_-')}_{mark}"


def make_ascii_word(text: str, otherwise: str) -> str:
    """Return the text as one ASCII word, with a hash appended where characters were lost."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    word = DISALLOWED.sub("_", plain).strip("_")
    if text.isascii() and word:
        return word
    return f"{word or otherwise}{'_' if word else ''}{hash_text(text)}"


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
