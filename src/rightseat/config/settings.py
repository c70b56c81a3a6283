"""Settings of rightseat.toml: each Struct is a table, each field a key with its type and range."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from rightseat.config.guardrails import GuardSettings
from rightseat.config.secret import Secret

Count = Annotated[int, Meta(ge=1)]


class GraphQLLimits(Struct, frozen=True, kw_only=True):
    # The clients' longest document has 3,507 characters, 272 tokens, 11 levels and 9 fields in one selection.
    max_characters: Count = 20_000
    """Characters of a document."""
    max_tokens: Count = 1000
    """Words and signs of a document."""
    max_depth: Count = 20
    """Levels, with fragments followed."""
    max_selections: Count = 64
    """Fields in one place."""
    max_aliases: Count = 16
    """Fields under another name."""
    max_directives: Count = 64
    """Directives, such as @stream."""
    max_definitions: Count = 16
    """Operations and fragments."""
    max_answer_mb: Count = 16
    """Of an answer to a document that no known client sends: it is held until it is over."""


DEFAULT_FORWARD_HEADERS = ("authorization", "x-*")
Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(gt=0)]
Amount = Annotated[float, Meta(ge=0)]
Number = Annotated[int, Meta(ge=0)]
Address = Annotated[str, Meta(pattern=r"^[0-9a-fA-F:.]+(/[0-9]{1,3})?$")]


class ServerSettings(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    """The address to listen on. Beyond loopback, [auth] is required."""
    port: Port = 7777
    """The port; 0 takes a free one."""
    public_url: str = ""
    """What clients call this server, behind a proxy: its host is then served too."""
    cors: tuple[str, ...] = ()
    """Origins that may call besides our own."""
    hosts: tuple[str, ...] = ()
    """Host names that may be asked for besides loopback's, `host` and `public_url`'s."""
    trusted_proxies: tuple[Address, ...] = ()
    """Addresses or networks of proxies whose X-Forwarded-For, -Proto and -Host are believed."""
    max_body_mb: Annotated[float, Meta(gt=0)] = 10
    """A larger request body is refused with 413."""
    max_header_kb: Annotated[int, Meta(ge=1, le=1024)] = 64
    """A larger request head is refused with 431."""
    header_timeout: Seconds = 10
    """Seconds for a request's head to arrive."""
    body_timeout: Seconds = 30
    """Seconds for a request's body to arrive."""
    keep_alive: Seconds = 15
    """Seconds of silence in a stream before a keep-alive is sent."""
    send_timeout: Seconds = 60
    """Seconds without progress before a slow reader is dropped."""
    grace: Annotated[float, Meta(ge=0)] = 30
    """Seconds that running answers get after SIGTERM."""
    max_runs: Count = 1000
    """Answers at the same time; more are told to come back."""
    log: Literal["console", "json"] = "console"
    """Lines for people, or one JSON object per line; always to stderr."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What is logged at least."""
    access_log: bool = True
    """One line for each request, at level info."""
    metrics: Literal["key", "open", "off"] = "key"
    """Who may read /metrics: whoever has a key, anyone, or nobody."""
    introspection: bool = False
    """Whether CopilotKit's GraphQL shows its schema, and a browser a page to try queries with."""
    graphql: GraphQLLimits = GraphQLLimits()
    """How large a document CopilotKit's GraphQL takes."""
    forward_headers: tuple[str, ...] = DEFAULT_FORWARD_HEADERS
    """Headers of a client's that agents and tools may see, `x-*` for all that begin so. Of such a family what
    proxies and platforms add is left out, and a key of this server always is."""
    mcp_allow: tuple[str, ...] = ()
    """Addresses of MCP servers that a request may name itself, as CopilotKit's `mcpServers` do."""
    trace_content: bool = False
    """Whether OpenTelemetry spans hold what was said, beside names and numbers."""
    environment: Literal["auto", "production", "development"] = "auto"
    """In production other code's exceptions are logged without their words, and hooks get no stack; `auto` is
    production where [auth] is set."""


class JwtSettings(Struct, frozen=True, kw_only=True):
    issuer: str
    """Who must have issued the token (`iss`)."""
    audience: str
    """Whom the token must be for (`aud`)."""
    jwks: str
    """The URL of the issuer's public keys."""
    owner_claim: str = "sub"
    """The claim that names the owner."""


class AuthSettings(Struct, frozen=True, kw_only=True):
    keys: dict[str, Secret] = {}
    """Owner's name → key. The file holds a reference, `env:NAME` or `file:PATH`; here it is resolved."""
    proxy_header: str = ""
    """The header in which a trusted proxy names the user."""
    proxy_addresses: tuple[str, ...] = ()
    """The proxies whose header is believed."""
    jwt: JwtSettings | None = None
    """Signed tokens of a login server; needs the extra `jwt`."""

    @property
    def required(self) -> bool:
        return bool(self.keys or self.proxy_header or self.jwt)


class ModelSettings(Struct, frozen=True, kw_only=True):
    """What stands here is ours; every other key of the table is an option that the model itself checks.
    References among the options are resolved, and secrets are Secret."""

    spec: str
    """KIND:NAME, such as `openai:gpt-5-mini`; `local`, or a .gguf file."""
    context: Count | None = None
    """Tokens that fit the model: older turns are dropped beyond it, and that is said."""
    input_cost: Amount | None = None
    """What a million input tokens cost, in the unit of spend_per_day."""
    output_cost: Amount | None = None
    """What a million output tokens cost."""
    fallbacks: tuple[str, ...] = ()
    """Other models, by name or spec, asked in turn when this one is down before it has said anything."""
    requests_per_minute: Amount = 0
    """How often it is asked in a minute, by all together; 0 is no limit."""
    concurrent: Number = 0
    """Its answers at the same time, to all together; 0 is no limit."""
    answer_tokens: Number = 0
    """Tokens of one answer at most, whatever a client asks for; 0 is no limit."""
    options: dict[str, Any] = {}


class AssistantSettings(Struct, frozen=True, kw_only=True):
    model: str = ""
    """A name of [models] or a spec; without one, the default model."""
    models: tuple[str, ...] = ()
    """Names of [models] or specs that a client may choose among; what it names must then be one of them."""
    system: str = ""
    """The assistant's instructions."""
    system_file: str = ""
    """A file that holds the instructions instead; a change is noticed."""
    tools: tuple[str, ...] = ()
    """`module:attribute` each: a function, a tool, or a list of them."""
    title: str = ""
    """The name that people see."""
    description: str = ""
    """What it is for, in a sentence."""
    image: str = ""
    """The URL of its picture."""
    plugins: tuple[str, ...] | None = None
    """The plugins that it may use, by id; without the key all, and with [] none."""
    agents: tuple[str, ...] = ()
    """Whom it may hand requests over to, by name: agents, flows as PLUGIN/FLOW, other assistants."""
    mcp: tuple[str, ...] | None = None
    """The servers of [mcp] that it may use; without the key all, and with [] none."""
    guardrails: str = ""
    """A name of [guardrails]; without one, those of `default` hold."""
    rounds: Count = 10
    """How often the model may be asked within one turn."""
    tool_timeout: Seconds = 60
    """Seconds that one tool call may take."""


class AgentSettings(Struct, frozen=True, kw_only=True):
    """`kind`, `title` and `description` are ours; every other key of the table is an option that this kind of
    agent itself checks. References among the options are resolved, and secrets are Secret."""

    kind: str
    """How it is spoken to: `langgraph`, `copilotkit`, `agui` or `crewai`."""
    title: str = ""
    """The name that people see."""
    description: str = ""
    """What it is for, in a sentence: people read it, and assistants that may hand over to it."""
    options: dict[str, Any] = {}


class PluginSettings(Struct, frozen=True, kw_only=True):
    """One or more plugins and what they may do. Nothing in a plugin's own folder changes any of it."""

    path: str
    """A plugin's folder, or a folder of plugins. A table for one of them counts before that for all."""
    enabled: bool = True
    """Whether they are loaded."""
    appears: bool = False
    """Whether each is an assistant of its own too, with its tools alone, and so is each of its flows, as
    PLUGIN.FLOW: a model or an agent to clients."""
    server: str = ""
    """Called instead of the servers that the plugin's document names."""
    allow: tuple[str, ...] = ()
    """Hosts and networks that may be called although they are not public, such as `10.1.2.0/24`."""
    confirm: Literal["dangerous", "writes", "all", "never"] = "dangerous"
    """Which calls a person must agree to first."""
    timeout: Seconds = 30
    """Seconds for one request, or for one call of a Python tool."""
    retries: Number = 2
    """How often a request that may be repeated is tried again."""
    max_mb: Count = 8
    """Of one answer."""
    max_upload_mb: Count = 20
    """Of one attached file."""
    auth: dict[str, Secret] = {}
    """Credential → `env:NAME` or `file:PATH`, in place of what plugin.json has under that name."""
    user_headers: dict[str, str] = {}
    """Credential → header of whoever asks, where each user has one. `forward_headers` must let it through."""
    memory_mb: Annotated[int, Meta(ge=64)] = 1024
    """For each process of a Python tool."""
    environment: dict[str, Secret] = {}
    """Variables for Python tools, by `env:NAME` or `file:PATH`: they find none of the server's own."""


class McpSettings(Struct, frozen=True, kw_only=True):
    """One MCP server whose tools assistants may use: a program that is started here, or an address."""

    command: str = ""
    """The program to run. It finds PATH, HOME and the language in its environment, and `env`."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: dict[str, Secret] = {}
    """Variables for it; a secret as `env:NAME` or `file:PATH`."""
    url: str = ""
    """The address of a server that speaks streamable HTTP, instead of `command`."""
    headers: dict[str, Secret] = {}
    """Headers for `url`; a secret, such as Authorization, as `env:NAME` or `file:PATH`."""
    older: bool = False
    """Speak the protocol of before 2026-07-28 with it: some servers can ask their user only so."""
    tools: tuple[str, ...] | None = None
    """Of its tools only these; without the key all."""
    confirm: Literal["dangerous", "writes", "all", "never"] = "dangerous"
    """Which calls a person must agree to first: those that the server calls destructive, those that it does
    not call read-only, all or none."""
    timeout: Seconds = 60
    """Seconds for one call."""
    start: Seconds = 30
    """Seconds to connect."""
    refresh: Seconds = 300
    """Seconds after which its list of tools is fetched again, if it does not tell of changes."""


class ToolSettings(Struct, frozen=True, kw_only=True):
    shown: Count = 16
    """How many tools of plugins a model is shown in one turn; it may search for others."""
    embeddings: str = ""
    """A name of [models] with embeddings, by which tools are chosen too."""


class DatabaseSettings(Struct, frozen=True, kw_only=True):
    """One database that `sql` steps of flows may ask. It is only ever read: give it an account that can do no
    more."""

    url: Secret
    """SQLAlchemy's URL, such as `sqlite:///shop.db` or `postgresql://reader@host/shop`. One with a password
    is better written as `env:NAME` or `file:PATH`."""
    description: str = ""
    """What is in it, in a sentence: for the model, and to choose among several databases."""
    plugins: tuple[str, ...] | None = None
    """The plugins that may ask it, by id; without the key all."""
    tables: tuple[str, ...] = ()
    """The tables and views that may be read, `schema.table` outside the default schema; without the key
    all."""
    functions: tuple[str, ...] = ()
    """Functions that queries may call besides those known to be harmless."""
    max_rows: Count = 1000
    """Rows of one answer; the rest is left out, and that is said."""
    max_mb: Count = 8
    """Of one answer."""
    timeout: Seconds = 30
    """Seconds for one query."""


class OwnerLimits(Struct, frozen=True, kw_only=True):
    """What is given here counts instead of [limits] for one owner; 0 is no limit."""

    requests_per_minute: Amount | None = None
    """Instead of [limits] requests_per_minute."""
    concurrent_runs: Number | None = None
    """Instead of [limits] concurrent_runs."""
    spend_per_day: Amount | None = None
    """Instead of [limits] spend_per_day."""
    tokens_per_day: Number | None = None
    """Instead of [limits] tokens_per_day."""


class LimitSettings(Struct, frozen=True, kw_only=True):
    run_seconds: Seconds = 600
    """Seconds that one answer may take."""
    requests_per_minute: Amount = 0
    """Answers that each owner may ask for in a minute; 0 is no limit."""
    concurrent_runs: Number = 0
    """Answers at the same time for each owner; 0 is no limit."""
    spend_per_day: Amount = 0
    """Money that each owner may spend in a day, by the models' input_cost and output_cost; 0 is no limit."""
    tokens_per_day: Number = 0
    """Tokens, in and out, for each owner in a day; 0 is no limit."""
    owners: dict[str, OwnerLimits] = {}
    """Other limits for one owner: a key's name, or in full such as "jwt:SUBJECT" or "proxy:NAME"."""


class HookSettings(Struct, frozen=True, kw_only=True):
    """The operator's own code around each run: `module:attribute` each, plain or async."""

    on_before_request: str = ""
    """May refuse a request, or give it headers and properties. The run waits for it."""
    on_after_request: str = ""
    """Is given what was asked and answered."""
    on_error: str = ""
    """Is given each run that failed."""
    timeout: Seconds = 5
    """Seconds for each call of one."""


class StoreSettings(Struct, frozen=True, kw_only=True):
    kind: str = "sqlite"
    """Where threads, open questions and tools' results are kept: `sqlite` in a file, `memory` for as long as
    the process lives, or the store of a package."""
    path: str = ""
    """The data folder. Else RIGHTSEAT_DATA, else one for each configuration file among the user's data."""
    keep_days: Amount = 0
    """Days after which a thread that nobody uses is deleted; 0 is never."""
    max_threads: Count = 1000
    """Threads of each owner; beyond it the one used longest ago is deleted."""
    max_thread_mb: Count = 16
    """Of one thread; beyond it its oldest runs are deleted."""
    max_mb: Count = 1024
    """Of all threads; beyond it those used longest ago are deleted."""
    record: Literal["off", "threads", "all"] = "threads"
    """Which runs are kept that end with their client: none, those whose client may ask for the conversation
    again (CopilotKit 1.10 and before), or every one, through whatever door."""
    orphan_seconds: Seconds = 300
    """Seconds after which a run on a thread that nobody follows is stopped."""


class Config(Struct, frozen=True, kw_only=True):
    server: ServerSettings = field(default_factory=ServerSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    models: dict[str, ModelSettings] = {}
    assistants: dict[str, AssistantSettings] = {}
    agents: dict[str, AgentSettings] = {}
    plugins: tuple[PluginSettings, ...] = ()
    databases: dict[str, DatabaseSettings] = {}
    mcp: dict[str, McpSettings] = {}
    tools: ToolSettings = field(default_factory=ToolSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    guardrails: dict[str, GuardSettings] = {}
    path: Path | None = None
    model: str = ""
    """The default assistant's model where the command line or RIGHTSEAT_MODEL names one."""
    model_from: str = ""
    """Who named `model`, for the card."""
    flags: dict[str, Any] = {}
    """Options of the default model that the command line gives: it must then be a local one."""
    without_local: str = ""
    """Why the embedded model cannot be had, and what to do: then a script answers where nothing is set."""

    @property
    def production(self) -> bool:
        environment = self.server.environment
        return self.auth.required if environment == "auto" else environment == "production"

    @property
    def folder(self) -> Path:
        """Where relative paths of the file start."""
        return self.path.parent if self.path else Path()

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file whose change should be noticed."""
        if self.path is None:
            return ()
        prompts = (self.folder / a.system_file for a in self.assistants.values() if a.system_file)
        return (self.path, *prompts)
