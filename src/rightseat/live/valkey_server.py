"""ValkeyAddress: where a Valkey or Redis server is, by a URL; ValkeyConnection: one connection to it.

    redis://user:password@host:6379/0       rediss:// with TLS, and ssl_ca_certs, ssl_certfile, ssl_keyfile as options
    unix:///run/valkey.sock?db=0&password=…
    redis://:password@one:26379,two:26379/0?sentinel=NAME    the hosts are Sentinels; NAME is what they call the primary
    redis://:password@one:6379,two:6379?cluster=true         the hosts are some nodes of a Cluster

`valkey://` and `valkeys://` mean the same as `redis://` and `rediss://`. The connection is ours and not redis-py's,
which connects again by itself when something is sent, and costs more for a command than a token does in all;
hiredis reads the replies.
"""

from __future__ import annotations

import asyncio
import binascii
import random
import re
import ssl
from collections.abc import Callable
from typing import Any, Self, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import hiredis

from rightseat.errors import ConfigError
from rightseat.live.remote import COMMAND_SECONDS, ServerRefused

MIN_VERSION = (6, 2)
"""Valkey has every version above it; XADD has NOMKSTREAM since Redis 6.2."""
CLUSTER_SLOTS = 16384
SAFE_POLICIES = ("noeviction", "volatile-")
"""What maxmemory-policy may begin with: the others remove keys that are in use."""
READ_BYTES = 65536
_SCHEMES = {"redis": "redis", "valkey": "redis", "rediss": "rediss", "valkeys": "rediss", "unix": "unix"}
_OPTIONS = {"cluster", "db", "password", "sentinel", "sentinel_password", "username"}
_TLS_OPTIONS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}
_ACCOUNT_FIX = "Check user and password of url in [live]."
_REFUSALS = {
    **dict.fromkeys(("WRONGPASS", "NOAUTH", "NOPERM", "ERR AUTH", "ERR Client sent AUTH"), _ACCOUNT_FIX),
    "ERR invalid password": _ACCOUNT_FIX,
    "ERR DB index is out of range": "Correct the number of the database at the end of url in [live]: it has fewer.",
    "ERR SELECT is not allowed in cluster mode": "Leave the number of the database out of url in [live].",
}
"""What to do about replies to AUTH and SELECT, by their beginnings."""
_WRONG_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
"""Reasons of OpenSSL where the other side does not speak TLS."""
_DEFAULT_PORT, _SENTINEL_PORT = 6379, 26379
Node = tuple[str, int]
Word = str | bytes | int


# Its stub says that a command has one word.
pack_command: Callable[[tuple[Word, ...]], bytes] = cast(Any, hiredis.pack_command)


class ReplyError(Exception):
    """Error that the server replies with. Its text begins with a code, such as MOVED."""


class ValkeyConnection:
    """Connection that one task uses. A server that is silent for `reply_seconds` counts as lost."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply_seconds: float) -> None:
        self.reader = reader
        self.writer = writer
        self.reply_seconds = reply_seconds
        self.parser = hiredis.Reader(protocolError=ConnectionError, replyError=ReplyError)

    async def write(self, *commands: tuple[Word, ...]) -> None:
        """Send commands in one write, without reading the replies."""
        self.writer.write(b"".join(map(pack_command, commands)))
        async with asyncio.timeout(self.reply_seconds):
            await self.writer.drain()

    async def read(self) -> Any:
        """Read the next reply; an error of the server is returned."""
        while (reply := self.parser.gets()) is False:
            async with asyncio.timeout(self.reply_seconds):
                data = await self.reader.read(READ_BYTES)
            if not data:
                raise ConnectionError("the server has closed the connection")
            self.parser.feed(data)
        return reply

    async def run(self, *words: Word) -> Any:
        """Run a command; raises ReplyError."""
        await self.write(words)
        reply = await self.read()
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def close(self) -> None:
        # Without waiting: the peer of a half-open connection never answers.
        self.writer.transport.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class ValkeyAddress:
    """Parsed URL of a server. Raises ConfigError for one that cannot be used; no message repeats the URL."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        if split.scheme not in _SCHEMES:
            raise ConfigError(
                "[live] url is no address of a Valkey or Redis server. Write redis://HOST:6379, rediss:// for TLS, or "
                "unix:///PATH."
            )
        self.scheme = _SCHEMES[split.scheme]
        options = dict(parse_qsl(split.query))
        known = _OPTIONS | _TLS_OPTIONS if self.scheme == "rediss" else _OPTIONS
        if unknown := sorted(options.keys() - known):
            raise ConfigError(f"[live] url has an unknown option: {unknown[0]}. Known: {', '.join(sorted(known))}.")
        self.sentinel = options.get("sentinel", "")
        self.is_cluster = options.get("cluster", "").lower() in ("1", "true", "yes")
        credentials, _, hosts = split.netloc.rpartition("@")
        user, _, password = credentials.partition(":")
        self.user = unquote(user) or options.get("username", "")
        self.password = unquote(password) or options.get("password", "")
        self.sentinel_password = options.get("sentinel_password", "")
        self.path = unquote(split.path) if self.scheme == "unix" else ""
        self.nodes = [read_node(host, self.sentinel) for host in hosts.split(",")] if not self.path else []
        self.database = options.get("db") or ("" if self.path else split.path.strip("/")) or "0"
        if not self.database.isdecimal():
            raise ConfigError("[live] url names a database that is no number.")
        if bool(self.sentinel) + self.is_cluster + bool(self.path) > 1:
            raise ConfigError("[live] url: a Unix socket, sentinel and cluster exclude each other.")
        self.tls = make_tls_context(options) if self.scheme == "rediss" else None

    @property
    def text(self) -> str:
        """Where the server is, for people: no user, no password, no options."""
        hosts = ", ".join(f"{host}:{port}" for host, port in self.nodes)
        return self.path or (f"{hosts} (Sentinel, {self.sentinel})" if self.sentinel else hosts)

    async def connect(self, key: str, reply_seconds: float = COMMAND_SECONDS) -> ValkeyConnection:
        """Open a connection to the server that has a key. Raises OSError, TimeoutError, ReplyError, ServerRefused."""
        if self.sentinel:
            node = await self.ask_sentinels()
        else:
            node = await self.ask_cluster(key) if self.is_cluster else (self.nodes or [("", 0)])[0]
        return await self.connect_node(node, reply_seconds)

    async def connect_node(self, node: Node, reply_seconds: float = COMMAND_SECONDS) -> ValkeyConnection:
        connection = await self.open_stream(node, reply_seconds)
        try:
            if self.password:
                await connection.run("AUTH", *([self.user] if self.user else []), self.password)
            # Also says whether a password is needed.
            await connection.run("SELECT", self.database)
        except BaseException as error:
            connection.close()
            if refusal := find_refusal(error):
                raise refusal from None
            raise
        return connection

    async def open_stream(self, node: Node, reply_seconds: float) -> ValkeyConnection:
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                if self.path:
                    reader, writer = await asyncio.open_unix_connection(self.path)
                else:
                    reader, writer = await asyncio.open_connection(*node, ssl=self.tls)
        except ssl.SSLError as error:
            if refusal := find_refusal(error):
                raise refusal from None
            raise
        return ValkeyConnection(reader, writer, reply_seconds)

    async def ask_sentinels(self) -> Node:
        """Ask the Sentinels for the primary. Their password is another one, if they have any."""
        error: Exception = ConnectionError("no Sentinel answers")
        for node in self.nodes:
            try:
                async with await self.open_stream(node, COMMAND_SECONDS) as connection:
                    if self.sentinel_password:
                        await connection.run("AUTH", self.sentinel_password)
                    reply = await connection.run("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.sentinel)
            except (OSError, TimeoutError, ReplyError) as failure:
                error = failure
                continue
            if reply is not None:
                return reply[0].decode(), int(reply[1])
            error = ConnectionError(f"the Sentinels know no {self.sentinel!r}")
        raise error

    async def ask_cluster(self, key: str) -> Node:
        """Ask the nodes of a Cluster which of them has a key."""
        slot = compute_slot(key)
        error: Exception = ConnectionError("no node of the Cluster answers")
        for node in random.sample(self.nodes, len(self.nodes)):
            try:
                async with await self.connect_node(node) as connection:
                    ranges = await connection.run("CLUSTER", "SLOTS")
            except (OSError, TimeoutError, ReplyError) as failure:
                error = failure
                continue
            for first, last, primary, *_ in ranges:
                if first <= slot <= last:
                    # A node that does not know its own address tells none.
                    return primary[0].decode() or node[0], primary[1]
            error = ConnectionError(f"the Cluster has no node for slot {slot}")
        raise error


def find_refusal(error: BaseException) -> ServerRefused | None:
    """Return what a server that is there refuses, and what to do; None if it may only be away."""
    if isinstance(error, ReplyError):
        advice = next((fix for start, fix in _REFUSALS.items() if str(error).startswith(start)), "")
        return ServerRefused(str(error), advice) if advice else None
    if isinstance(error, ssl.SSLCertVerificationError):
        return ServerRefused(
            f"its certificate is not accepted: {error.verify_message}",
            "Write the host as the certificate names it in url in [live], and its authority as ?ssl_ca_certs=FILE.",
        )
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        reason = error.reason or str(error)
        if reason in _WRONG_TLS:
            return ServerRefused("it does not speak TLS at this port", "Write redis://, or the port for TLS.")
        return ServerRefused(
            f"TLS failed: {reason.replace('_', ' ').lower()}",
            "Correct ssl_ca_certs, ssl_certfile and ssl_keyfile of url in [live].",
        )
    return None


def make_tls_context(options: dict[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
        if certificate := options.get("ssl_certfile"):
            context.load_cert_chain(certificate, options.get("ssl_keyfile"))
    except OSError as error:
        raise ConfigError(f"[live] url: a certificate cannot be read: {error.strerror or error}.") from None
    return context


def read_node(text: str, sentinel: str) -> Node:
    parts = urlsplit(f"//{text}")
    try:
        port = parts.port
    except ValueError:
        raise ConfigError("[live] url has a port that is no number.") from None
    return parts.hostname or "localhost", port or (_SENTINEL_PORT if sentinel else _DEFAULT_PORT)


def compute_slot(key: str) -> int:
    """Compute the slot of a key in a Cluster, by its part in braces."""
    tag = re.search(r"\{([^}]+)\}", key)
    return binascii.crc_hqx((tag[1] if tag else key).encode(), 0) % CLUSTER_SLOTS


def parse_info(reply: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in reply.decode(errors="replace").splitlines() if not line.startswith("#"))
    return {name: value for name, colon, value in lines if colon}


async def check_version(connection: ValkeyConnection) -> str:
    """Return the name and version of the server; raise ServerRefused if it is too old."""
    try:
        info = parse_info(await connection.run("INFO", "server"))
    except ReplyError:
        # The account may not ask.
        return ""
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = info.get("valkey_version") or info.get("redis_version", "")
    if name == "Redis" and tuple(map(int, re.findall(r"\d+", version)[:2])) < MIN_VERSION:
        raise ServerRefused(f"it is Redis {version}", "Use Valkey, or Redis 6.2 or newer.")
    return f"{name} {version}"


async def find_eviction_problem(connection: ValkeyConnection) -> str | None:
    """Return the maxmemory-policy if it removes keys that are in use; "" if it is safe; None if the account may not
    ask."""
    try:
        reply = await connection.run("CONFIG", "GET", "maxmemory-policy")
    except ReplyError:
        return None
    policy: str = reply[1].decode() if reply else "noeviction"
    return "" if policy.startswith(SAFE_POLICIES) else policy
