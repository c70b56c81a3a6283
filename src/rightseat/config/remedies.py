"""What to correct where a server that the configuration names refuses a connection: the same words everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rightseat.errors import ConfigError


class UnusableServer(ConfigError):
    """A server that is there but cannot be used, or that is away: the reason, and what to do."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{end_sentence(reason)} {advice}")
        self.reason = reason
        self.advice = advice


def end_sentence(text: str) -> str:
    """Return a text with one full stop at its end, whatever it ended with."""
    return f"{text.rstrip('. ')}."


def quote_name(name: str) -> str:
    """Quote a name of a database, schema or account for a statement."""
    return '"' + name.replace('"', '""') + '"'


Advise = Callable[[str, re.Match[str], Mapping[str, str]], str]
"""Takes the setting with the address, the match and the parts of the address; returns what to do."""

_ADVICE: list[tuple[str, Advise]] = [
    (
        r"too many clients|connection slots are reserved|too many connections for",
        lambda setting, found, parts: (
            "It has no connection left: raise max_connections of the server, or the CONNECTION LIMIT of the account or "
            "database, or lower [store] pool, which each process has for itself."
        ),
    ),
    (
        r"password authentication failed|no password supplied|authentication failed|authentication method",
        lambda setting, found, parts: f"Correct the user and the password in {setting}.",
    ),
    (
        r'role "(.+)" does not exist',
        lambda setting, found, parts: (
            f"Correct the user in {setting}, or make it: CREATE ROLE {quote_name(found[1])} LOGIN PASSWORD '…';"
        ),
    ),
    (
        r'role "(.+)" is not permitted to log in',
        lambda setting, found, parts: f"Let it log in: ALTER ROLE {quote_name(found[1])} LOGIN;",
    ),
    (
        r'permission denied for database "(.+)"',
        lambda setting, found, parts: (
            f"Let the account connect: GRANT CONNECT ON DATABASE {quote_name(found[1])} TO "
            f"{quote_name(parts.get('user') or 'USER')};"
        ),
    ),
    (
        r'database "(.+)" does not exist',
        lambda setting, found, parts: (
            f"Correct the database in {setting}, or make it: CREATE DATABASE {quote_name(found[1])};"
        ),
    ),
    (
        r"pg_hba\.conf",
        lambda setting, found, parts: "Allow this machine, user and database in the server's pg_hba.conf.",
    ),
    (
        r"SSL|certificate|sslmode|sslrootcert",
        lambda setting, found, parts: f"Correct sslmode and the certificates in {setting}.",
    ),
    (
        r"translate host name|resolve host|Name or service not known",
        lambda setting, found, parts: f"Correct the host in {setting}.",
    ),
    (
        r"session is read-only|hot standby mode|session is not read-only",
        lambda setting, found, parts: f"Give the address of the primary in {setting}.",
    ),
    (
        r"database system is (?:starting up|shutting down|in recovery|not yet accepting)",
        lambda setting, found, parts: "Wait until the server is up, and start again.",
    ),
]


def advise_postgres(text: str, setting: str, parts: Mapping[str, str]) -> str:
    """Return what to do about a connection that PostgreSQL, or the way to it, has refused with this text."""
    for pattern, advise in _ADVICE:
        if found := re.search(pattern, text):
            return advise(setting, found, parts)
    # Only a server that runs says FATAL.
    if "FATAL" in text:
        return f"The server runs, and refuses {setting}: its log says why."
    return f"Start it, or correct {setting}."


def is_refused(text: str) -> bool:
    """Whether a failed connection was refused by a server that runs, and will be again."""
    return "FATAL" in text and not re.search("too many|slots are reserved|database system is", text)
