"""Settings of rightseat.toml: each Struct is a table, each field a key with its type and range."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from rightseat.config.guardrails import GuardSettings, Number, Seconds
from rightseat.config.secret import Secret
from rightseat.types.agent_card import CardEndpoints, CustomFeature

Count = Annotated[int, Meta(ge=1)]


WithoutStore = Literal["share", "allow", "refuse"]


class GraphQLLimits(Struct, frozen=True, kw_only=True):
    # Limits of GraphQL documents, because validation time grows with the square of the size.
    # The clients' longest document has 3,507 characters, 272 tokens, 11 levels and 9 fields in one selection.
    max_characters: Count = 20_000
    """The most characters that a GraphQL document may have."""
    max_tokens: Count = 1000
    """The most lexical tokens (names, values and punctuation) that a document may have."""
    max_depth: Count = 20
    """The most levels that selections may be nested, with fragments expanded."""
    max_selections: Count = 64
    """The most fields that one selection set may have."""
    max_aliases: Count = 16
    """The most aliased fields that a document may have."""
    max_directives: Count = 64
    """The most directives, such as @stream, that a document may have."""
    max_definitions: Count = 16
    """The most operations and fragments that a document may define."""
    max_answer_mb: Count = 16
    """The largest response, in MB, to a document that no known client sends. The server buffers such a response
    until it is complete."""


DEFAULT_FORWARD_HEADERS = ("authorization", "x-*")
Port = Annotated[int, Meta(ge=0, le=65535)]
Workers = Annotated[int, Meta(ge=1, le=256)] | Literal["auto"]
Amount = Annotated[float, Meta(ge=0)]
Address = Annotated[str, Meta(pattern=r"^[0-9a-fA-F:.]+(/[0-9]{1,3})?$")]


class ServerSettings(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    """The address to listen on. Any address except loopback requires [auth]."""
    port: Port = 7777
    """The TCP port to listen on. 0 takes a free port."""
    workers: Workers = 1
    """The number of processes that serve the port. `auto` is one for each processor that this process may use, and 1
    where a local model answers."""
    public_url: str = ""
    """The URL that clients use for this server, for example behind a proxy. Requests for its host name are accepted
    too."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may call this server, such as `https://app.example.com`, besides the server's own origin."""
    hosts: tuple[str, ...] = ()
    """Host names that requests may use, besides those of loopback, `host` and `public_url`."""
    trusted_proxies: tuple[Address, ...] = ()
    """Addresses or networks of proxies. X-Forwarded-For, -Proto and -Host count only from these."""
    max_body_mb: Annotated[float, Meta(gt=0)] = 10
    """The largest request body, in MB. The server refuses a larger one with status 413."""
    max_header_kb: Annotated[int, Meta(ge=1, le=1024)] = 64
    """The largest request head, in KB. The server refuses a larger one with status 431."""
    header_timeout: Seconds = 10
    """Seconds that a client has to send the head of a request."""
    body_timeout: Seconds = 30
    """Seconds that a client has to send the body of a request."""
    keep_alive: Seconds = 15
    """Seconds without data on a stream after which the server sends a keep-alive."""
    first_byte: Seconds = 2
    """Seconds after which the server sends the head of a stream and a comment while the model is still silent, so that
    proxies do not cut the connection. An error after that is part of the stream; before, it has its own HTTP status."""
    send_timeout: Seconds = 60
    """Seconds without progress after which the server closes the connection of a slow reader."""
    grace: Annotated[float, Meta(ge=0)] = 30
    """Seconds that running answers have to finish after SIGTERM."""
    max_runs: Count = 1000
    """The most runs at the same time, for all clients together. The server refuses more and says when to try again."""
    log: Literal["console", "json"] = "console"
    """The format of the log: `console` writes lines for people, `json` one JSON object per line. Both go to stderr."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is logged."""
    access_log: bool = True
    """Whether the server logs one line for each request, at level info."""
    metrics: Literal["key", "open", "off"] = "key"
    """Who may read /metrics: `key` anyone with a key, `open` anyone, `off` nobody."""
    introspection: bool = False
    """Whether CopilotKit's GraphQL endpoint answers introspection queries and shows browsers a page to try queries."""
    stream_arguments: bool = False
    """Whether the OpenAI door streams the arguments of calls as they come. By default it sends a call when it is
    complete, because some clients close the JSON of a call that the token limit cut, and run it."""
    debug_events: bool = False
    """Whether CopilotKit's inspector may follow the runs of its own key at /copilotkit/cpk-debug-events, with all that
    is said in them."""
    graphql: GraphQLLimits = GraphQLLimits()
    """Limits for the GraphQL documents of CopilotKit's clients."""
    forward_headers: tuple[str, ...] = DEFAULT_FORWARD_HEADERS
    """Request headers that agents and tools may see. `x-*` means all headers with that prefix, except those that
    proxies and platforms add. A key of this server is never forwarded."""
    fetch_allow: tuple[str, ...] = ()
    """Hosts and networks from which OpenBB's files and pages are fetched although they are not public, such as
    `files.intranet` or `10.1.2.0/24`."""
    mcp_allow: tuple[str, ...] = ()
    """URLs of MCP servers that a request may name itself, as CopilotKit's `mcpServers` does. All others are refused."""
    aliases: dict[str, Annotated[str, Meta(min_length=1)]] = {}
    """Further names that clients may send as `model`, such as `"acme-*" = "default"`: each means an assistant, a flow
    or ASSISTANT/MODEL. Names of well-known models (`gpt-*`, `claude-*`, …) mean the default assistant without one."""
    trace_content: bool = False
    """Whether OpenTelemetry spans contain the text of messages, besides names and numbers."""
    environment: Literal["auto", "production", "development"] = "auto"
    """In `production` the log leaves out the messages of exceptions from other code, and hooks get no stack trace.
    `auto` means production if [auth] is set."""


class JwtSettings(Struct, frozen=True, kw_only=True):
    issuer: str
    """The issuer that a token must name (`iss`)."""
    audience: str
    """The audience that a token must name (`aud`)."""
    jwks: str
    """The URL of the issuer's public keys (JWKS)."""
    owner_claim: str = "sub"
    """The claim whose value is the owner's name."""


MIN_KEY_CHARS = 16
"""Shorter keys are accepted with a warning."""
SHORT_KEY_FIX = "give each a longer key, such as openssl rand -hex 24 prints"


class AuthSettings(Struct, frozen=True, kw_only=True):
    keys: dict[str, Secret] = {}
    """Keys by owner's name. The value is a reference, `env:NAME` or `file:PATH`, never the key itself."""
    proxy_header: str = ""
    """The header in which a trusted proxy names the user."""
    proxy_addresses: tuple[str, ...] = ()
    """Addresses of the proxies whose `proxy_header` the server accepts."""
    admins: tuple[str, ...] = ()
    """Owners that may change this server's model on its page: names of `keys`, others in full as "jwt:SUBJECT" or
    "proxy:NAME". Without it nobody may, where [auth] is set."""
    jwt: JwtSettings | None = None
    """Accept signed tokens (JWT) of a login server. Needs the extra `jwt`."""

    @property
    def required(self) -> bool:
        return bool(self.keys or self.proxy_header or self.jwt)

    def describe_short_keys(self) -> str:
        """Return a sentence that names the owners whose key is easily guessed; empty if there are none."""
        owners = [owner for owner, key in self.keys.items() if len(key.reveal()) < MIN_KEY_CHARS]
        return f"fewer than {MIN_KEY_CHARS} characters are easily guessed: {', '.join(owners)}" if owners else ""


class ModelSettings(Struct, frozen=True, kw_only=True):
    """What stands here is ours; every other key of the table is an option that the model itself checks.
    References among the options are resolved, and secrets are Secret."""

    spec: str
    """Which model this is: KIND:NAME such as `openai:gpt-5-mini`, `local`, or a .gguf file."""
    context: Count | None = None
    """The model's context window, in tokens. The oldest turns that do not fit are dropped, and the answer says so."""
    input_cost: Amount | None = None
    """The price of a million input tokens, in the unit of spend_per_day."""
    output_cost: Amount | None = None
    """The price of a million output tokens, in the unit of spend_per_day."""
    fallbacks: tuple[str, ...] = ()
    """Models, by name or spec, that are tried in this order if this one fails before its first token."""
    requests_per_minute: Amount = 0
    """The most calls of this model in a minute, for all owners together. 0 means no limit."""
    concurrent: Number = 0
    """The most calls of this model at the same time, for all owners together. 0 means no limit."""
    answer_tokens: Number = 0
    """The most tokens of one answer, whatever a client asks for. 0 means no limit."""
    transcribes: bool = False
    """Whether this model writes down speech, for /v1/audio/transcriptions and CopilotKit's microphone, instead of
    answering chats. A `whisper:` model always does."""
    options: dict[str, Any] = {}

    @property
    def is_transcriber(self) -> bool:
        return self.transcribes or self.spec.startswith("whisper:")


class AssistantSettings(Struct, frozen=True, kw_only=True):
    model: str = ""
    """The model: a name of [models] or a spec. Without it, the default model."""
    models: tuple[str, ...] = ()
    """Names of [models] or specs that a client may choose among. A client that names another model is refused."""
    system: str = ""
    """The assistant's instructions (system prompt)."""
    system_file: str = ""
    """A file with the instructions, instead of `system`. The server reads the file again when it changes."""
    tools: tuple[str, ...] = ()
    """Tools as `module:attribute`: each names a function, a tool, or a list of them. `calculate`,
    `table_query` and `facts` are built in. `ENDPOINT:ACTION` is an action of a CopilotKit endpoint in [agents]: of
    such an endpoint the assistant then has only the named actions."""
    title: str = ""
    """The name that front ends show."""
    description: str = ""
    """What the assistant is for, in one sentence."""
    image: str = ""
    """The URL of the assistant's picture. Without it, OpenBB shows rightseat's."""
    id: str = ""
    """The agent's id in OpenBB's agents.json. Without it, `rightseat-NAME`."""
    features: dict[str, bool | CustomFeature] = {}
    """What OpenBB Workspace offers with the agent: its own features as true or false, such as `file-upload`, and
    options of yours as tables with a label, which users set and your tools read."""
    endpoints: CardEndpoints = CardEndpoints()
    """The agent's addresses in OpenBB's agents.json, if they are not the usual ones."""
    plugins: tuple[str, ...] | None = None
    """Ids of the plugins that the assistant may use. Without the key all, with [] none."""
    agents: tuple[str, ...] = ()
    """Names of those that the assistant may hand requests over to: agents, flows as PLUGIN/FLOW, other assistants."""
    mcp: tuple[str, ...] | None = None
    """Names of the [mcp] servers that the assistant may use. Without the key all, with [] none."""
    state_schema: dict[str, Any] = {}
    """A JSON Schema of the state that a page shares. With it the model sees the state and changes it with the tool
    `set_state`, which the page shows while the model writes."""
    predict_state: dict[str, str] = {}
    """Keys of the page's state that an argument of a tool fills while the model writes it, as KEY = "TOOL.ARGUMENT"."""
    suggestions: tuple[str, ...] = ()
    """Questions that front ends suggest at the start of a conversation, before those of plugins."""
    guardrails: str = ""
    """The name of a [guardrails] table. Without it, [guardrails.default] applies."""
    rounds: Count = 10
    """The most calls of the model in one turn."""
    tool_timeout: Seconds = 60
    """Seconds that one tool call may take."""
    date: bool = False
    """Whether the prompt says today's date in the server's time zone. The OpenBB door always says it, in the user's."""
    truncation: Literal["auto", "disabled"] = "auto"
    """What happens to a conversation that does not fit the model: `auto` drops its oldest turns, `disabled` refuses
    it. A client may choose at the OpenAI door."""
    summarise: bool = False
    """Whether the model summarises the turns that are dropped. The summary stands in their place and costs a call of
    the model each time that turns are dropped."""


class AgentSettings(Struct, frozen=True, kw_only=True):
    """`kind`, `title` and `description` are ours; every other key of the table is an option that this kind of
    agent itself checks. References among the options are resolved, and secrets are Secret."""

    kind: str
    """The agent's protocol: `langgraph`, `copilotkit`, `agui` or `crewai`."""
    title: str = ""
    """The name that front ends show."""
    description: str = ""
    """What the agent is for, in one sentence. Users see it, and assistants that may hand over to the agent."""
    options: dict[str, Any] = {}


class PluginSettings(Struct, frozen=True, kw_only=True):
    """One or more plugins and what they may do. Nothing in a plugin's own folder changes any of it."""

    path: str
    """The folder of one plugin, or a folder of plugins. A table for one plugin takes precedence over the table of
    its parent folder."""
    enabled: bool = True
    """Whether these plugins are loaded."""
    appears: bool = False
    """Whether each plugin is listed as an assistant with only its own tools, and each of its flows as PLUGIN.FLOW.
    Clients see them as models or agents."""
    server: str = ""
    """The URL to call instead of the servers that the plugin's API document names."""
    allow: tuple[str, ...] = ()
    """Hosts and networks that the plugins may call although they are not public, such as `10.1.2.0/24`."""
    confirm: Literal["dangerous", "writes", "all", "never"] = "dangerous"
    """Which calls need the user's approval: `dangerous` those of operations marked so, `writes` also all except
    GET, HEAD and OPTIONS, `all` or `never`."""
    timeout: Seconds = 30
    """Seconds for one request, or for one call of a Python tool."""
    retries: Number = 2
    """How often a failed request is sent again, if it is safe to repeat."""
    max_mb: Count = 8
    """The largest response, in MB."""
    max_upload_mb: Count = 20
    """The largest attached file, in MB."""
    auth: dict[str, Secret] = {}
    """Credentials by name, as `env:NAME` or `file:PATH`. Each replaces the value of that name in plugin.json."""
    user_headers: dict[str, str] = {}
    """Credentials that differ per user: the credential's name and the request header that carries it.
    `forward_headers` must include that header."""
    memory_mb: Annotated[int, Meta(ge=64)] = 1024
    """The memory limit of each Python tool process, in MB."""
    environment: dict[str, Secret] = {}
    """Environment variables of Python tools, as `env:NAME` or `file:PATH`. The tools see none of the server's
    variables."""
    lib: Literal["confined", "trusted"] = "confined"
    """How Python tools run. `confined`: they read their plugin, Python and the system's libraries, write only a scratch
    folder, and are left out where the machine cannot confine them. `trusted`: they may do what the server may."""
    read: tuple[str, ...] = ()
    """Further files and folders that confined Python tools may read, absolute or relative to rightseat.toml."""


class McpSettings(Struct, frozen=True, kw_only=True):
    """One MCP server whose tools assistants may use: a program that is started here, or an address."""

    command: str = ""
    """The program to start as an MCP server. Its environment has PATH, HOME, the locale and what `env` adds."""
    args: tuple[str, ...] = ()
    """The program's arguments."""
    env: dict[str, Secret] = {}
    """Environment variables of the program. Write a secret as `env:NAME` or `file:PATH`."""
    url: str = ""
    """The URL of an MCP server with streamable HTTP, instead of `command`."""
    headers: dict[str, Secret] = {}
    """Request headers for `url`. Write a secret, such as Authorization, as `env:NAME` or `file:PATH`."""
    older: bool = False
    """Whether to use the MCP protocol from before 2026-07-28. Some servers can ask the user questions only with it."""
    tools: tuple[str, ...] | None = None
    """Names of the server's tools that assistants may use. Without the key all."""
    confirm: Literal["dangerous", "writes", "all", "never"] = "dangerous"
    """Which calls need the user's approval: `dangerous` those that the server marks destructive, `writes` all that
    it does not mark read-only, `all` or `never`."""
    timeout: Seconds = 60
    """Seconds for one call."""
    start: Seconds = 30
    """Seconds for starting the program or connecting to the URL."""
    refresh: Seconds = 300
    """Seconds after which the list of tools is fetched again, if the server does not announce changes."""


class ToolSettings(Struct, frozen=True, kw_only=True):
    shown: Count = 16
    """The most plugin tools that a model sees in one turn. It can search for others with `find_tools`."""
    embeddings: str = ""
    """The name of a [models] table with embeddings. Tools are then selected by meaning as well as by words."""
    select: Literal["words", "model"] = "words"
    """Who chooses among plugins with more tools than are shown: `words` (and embeddings), or the assistant's `model`
    first, by one short call over the names and descriptions of the plugins."""


class DatabaseSettings(Struct, frozen=True, kw_only=True):
    """One database that `sql` steps of flows may ask. It is only ever read: give it an account that can do no
    more."""

    url: Secret
    """SQLAlchemy's URL, such as `sqlite:///shop.db` or `postgresql://reader@host/shop`. Write a URL with a password
    as `env:NAME` or `file:PATH`."""
    description: str = ""
    """What the database contains, in one sentence. The model reads it, also to choose among several databases."""
    plugins: tuple[str, ...] | None = None
    """Ids of the plugins that may query the database. Without the key all."""
    tables: tuple[str, ...] = ()
    """Tables and views that queries may read, as `schema.table` outside the default schema. Without the key all."""
    functions: tuple[str, ...] = ()
    """SQL functions that queries may call, besides those on the built-in list of safe functions."""
    max_rows: Count = 1000
    """The most rows of one result. Further rows are left out, and the result says so."""
    max_mb: Count = 8
    """The largest result, in MB."""
    timeout: Seconds = 30
    """Seconds for one query."""
    memory_mb: Annotated[int, Meta(ge=64)] = 1024
    """The memory of one query of SQLite or DuckDB, in MB. PostgreSQL and MySQL have limits of their own."""


class OwnerLimits(Struct, frozen=True, kw_only=True):
    """What is given here counts instead of [limits] for one owner; 0 is no limit."""

    requests_per_minute: Amount | None = None
    """Replaces requests_per_minute of [limits] for this owner. 0 means no limit."""
    concurrent_runs: Number | None = None
    """Replaces concurrent_runs of [limits] for this owner. 0 means no limit."""
    spend_per_day: Amount | None = None
    """Replaces spend_per_day of [limits] for this owner. 0 means no limit."""
    tokens_per_day: Number | None = None
    """Replaces tokens_per_day of [limits] for this owner. 0 means no limit."""


class LimitSettings(Struct, frozen=True, kw_only=True):
    run_seconds: Seconds = 600
    """Seconds that one run may take."""
    requests_per_minute: Amount = 0
    """The most runs that each owner may start in a minute. 0 means no limit."""
    concurrent_runs: Number = 0
    """The most runs of each owner at the same time. 0 means no limit."""
    spend_per_day: Amount = 0
    """The most that each owner may spend in a day, by input_cost and output_cost of the models. 0 means no limit."""
    tokens_per_day: Number = 0
    """The most input and output tokens of each owner in a day. 0 means no limit."""
    without_store: WithoutStore = "share"
    """What each process grants while the store that it shares with others is away: "share" its part of each limit,
    "allow" all, "refuse" nothing."""
    owners: dict[str, OwnerLimits] = {}
    """Limits for single owners, by a key's name or in full as "jwt:SUBJECT" or "proxy:NAME"."""


class HookSettings(Struct, frozen=True, kw_only=True):
    """The operator's own code around each run: `module:attribute` each, plain or async."""

    on_before_request: str = ""
    """A function, as `module:attribute`, that may refuse a request or add headers and properties to it. The run
    waits for it."""
    on_after_request: str = ""
    """A function, as `module:attribute`, that gets the request and the answer of each run."""
    on_error: str = ""
    """A function, as `module:attribute`, that gets each failed run."""
    on_stop: str = ""
    """A function, as `module:attribute`, that gets each request whose client stops the answer or leaves."""
    on_feedback: str = ""
    """A function, as `module:attribute`, that gets each vote on an answer. The client waits for it."""
    timeout: Seconds = 5
    """Seconds for each call of a hook."""


class StoreSettings(Struct, frozen=True, kw_only=True):
    kind: str = "sqlite"
    """Where threads, open questions and results of tools are stored: `sqlite` in a file, `postgres` in a PostgreSQL
    database that several machines share, `memory` until the process ends, or the name of an installed store."""
    url: Secret | None = None
    """The database of kind `postgres`, such as `postgresql://user@host/database`. Write a URL with a password as
    `env:NAME` or `file:PATH`."""
    schema: str = "rightseat"
    """The schema of kind `postgres` that holds the tables. Deployments with schemas of their own share a database and
    see nothing of each other."""
    migrate: Literal["auto", "never"] = "auto"
    """Who brings the tables of kind `postgres` to a new version: `auto` the first process of it that starts, `never`
    only `rightseat store migrate`."""
    row_security: bool = False
    """Whether the server says before each statement whose rows it asks for, so that the tables of kind `postgres` may
    have row security. `rightseat store protect` switches that on once every server has this setting."""
    pool: Annotated[int, Meta(ge=4, le=1000)] = 8
    """The most connections of each process to the database of kind `postgres`."""
    path: str = ""
    """The data folder. Without it RIGHTSEAT_DATA, else one folder for each configuration file in the user's data
    folder."""
    keep_days: Amount = 0
    """Days after which an unused thread is deleted. 0 means never."""
    max_threads: Count = 1000
    """The most threads of each owner. Beyond it, the least recently used thread is deleted."""
    max_thread_mb: Count = 16
    """The largest size of one thread, in MB. Beyond it, the thread's oldest runs are deleted."""
    max_mb: Count = 1024
    """The largest size of all threads, in MB. Beyond it, the least recently used threads are deleted."""
    record: Literal["off", "threads", "all"] = "threads"
    """Which runs that end with their client's connection are stored: `off` none, `threads` those whose client may
    ask for the conversation again (CopilotKit 1.10 and before), `all` every run of every door."""
    orphan_seconds: Seconds = 300
    """Seconds without a connected client after which a run on a thread is stopped."""
    damaged: Literal["replace", "refuse"] = "replace"
    """What a start does with a damaged file: `replace` keeps it aside and carries over to a new file all that can be
    read, `refuse` stops with an error until it is repaired or restored by hand."""


class LiveSettings(Struct, frozen=True, kw_only=True):
    kind: str = "auto"
    """How processes that share a store tell each other of new entries and of stops: `local` on one machine,
    `postgres` by the database, `valkey` by a Valkey or Redis server, `memory` not at all, or the name of an installed
    plane. `auto` is the kind that `url` is the address of; without it `postgres` with that store, else `local`."""
    url: Secret | None = None
    """The server of kind `valkey`, such as `redis://host:6379`, `rediss://` with TLS, `unix:///path`, with
    `?sentinel=NAME` or `?cluster=true`; or that of kind `postgres`, without it the one of [store]. Write a URL with a
    password as `env:NAME` or `file:PATH`."""
    deployment: str = ""
    """A name that all processes of one deployment have in common. Those with other names on the same server see
    nothing of each other. Without it the store's own."""
    window_ms: Annotated[float, Meta(ge=0, le=1000)] = 25
    """Milliseconds for which entries wait for others before they are stored and told of together, with `[store] kind =
    "postgres"`; also the time between two batches of notifications by a live server. After a pause both happen at once,
    and after 5 ms while few entries come."""
    lease_seconds: Annotated[float, Meta(ge=0.5, le=600)] = 10
    """Seconds without a sign of life after which a worker of `[server] workers` is killed and replaced. With
    `[store] kind = "postgres"` also those after which a process that the database cannot reach counts as dead."""
    after_crash: Literal["resume", "end"] = "resume"
    """What becomes of a run on a thread whose process has died. `resume`: another process that shares the store goes on
    with it where that is safe; its request is kept until its end. `end`: it ends with the error `restarted`."""


class Config(Struct, frozen=True, kw_only=True):
    default: str = ""
    """Assistant, model, agent or flow (`PLUGIN.FLOW`) that answers where a client names none. Without it the one called
    `default` does, else the first assistant, else the first model, else the first agent."""
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
    live: LiveSettings = field(default_factory=LiveSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    guardrails: dict[str, GuardSettings] = {}
    path: Path | None = None
    model: str = ""
    """The default assistant's model where the command line or RIGHTSEAT_MODEL names one."""
    model_from: str = ""
    """Who named `model`, for the card."""
    flags: dict[str, Any] = {}
    """Options of the default model that the command line gives: it must then be a local one."""
    keeps_demo: bool = False
    """Whether the demo stays although a model is named: it was chosen on the page of an unconfigured server."""
    without_local: str = ""
    """Why the embedded model cannot be had, and what to do: then a script answers where nothing is set."""

    @property
    def production(self) -> bool:
        environment = self.server.environment
        return self.auth.required if environment == "auto" else environment == "production"

    def find_assistant(self, name: str) -> AssistantSettings | None:
        """Return the table of an assistant; the default one without a table has the first. None for a plain model,
        which is addressed by its name beside [assistants]."""
        if not self.assistants:
            return AssistantSettings()
        return self.assistants.get(self.default_assistant if name == "default" else name)

    @property
    def default_assistant(self) -> str:
        """Name of the [assistants] table that the default assistant has; empty without tables."""
        named = (name for name in (self.default, "default") if name in self.assistants)
        return next(named, None) or next(iter(self.assistants), "")

    @property
    def chat_models(self) -> dict[str, ModelSettings]:
        """Models of [models] that answer chats: all but those that transcribe speech."""
        return {name: settings for name, settings in self.models.items() if not settings.is_transcriber}

    @property
    def default_elsewhere(self) -> str:
        """Name of the agent or flow that is the default; empty where it is an assistant or a model."""
        if self.default:
            return "" if self.default in self.assistants or self.default in self.models else self.default
        if "default" in self.agents:
            return "default"
        return next(iter(self.agents)) if self.has_agents_only else ""

    @property
    def has_agents_only(self) -> bool:
        """Whether only agents answer, and no model is needed."""
        own = (self.chat_models, self.assistants, self.plugins, self.mcp, self.databases, self.model, self.flags)
        return bool(self.agents) and not any(own)

    @property
    def folder(self) -> Path:
        """Where relative paths of the file start."""
        return self.path.parent if self.path else Path()

    def resolve_plugin_path(self, settings: PluginSettings) -> Path:
        return (self.folder / Path(settings.path).expanduser()).resolve()

    @property
    def plugin_paths(self) -> tuple[Path, ...]:
        """Folders of the enabled plugins, as [[plugins]] and --plugins name them."""
        return tuple(self.resolve_plugin_path(settings) for settings in self.plugins if settings.enabled)

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file whose change should be noticed."""
        if self.path is None:
            return ()
        prompts = (self.folder / a.system_file for a in self.assistants.values() if a.system_file)
        return (self.path, *prompts)
