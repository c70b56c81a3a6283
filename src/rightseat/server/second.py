"""A second server beside the first: the command that starts one when the port or the data folder is in use."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Sequence

from rightseat.config.installation import format_program, join_command
from rightseat.config.settings import Config
from rightseat.wiring.storage import SQLITE, data_folder

REPLACED_OPTIONS = ("--port", "--data")
TRIED_PORTS = 50


def format_second_command(config: Config, arguments: Sequence[str] | None = None) -> str:
    """Return the command that serves this configuration beside another server: on a free port, with a data folder of
    its own. `arguments` is the command line; what it has besides stays."""
    arguments = sys.argv if arguments is None else arguments
    given = list(drop_options(arguments[2:])) if arguments[1:2] == ["serve"] else []
    port = find_free_port(config.server.host, config.server.port)
    folder = ["--data", f"{data_folder(config)}-{port}"] if config.store.kind == SQLITE else []
    return join_command([*format_program(arguments), "serve", *given, "--port", str(port), *folder])


def drop_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the words without the options that get another value."""
    rest = iter(words)
    for word in rest:
        if word in REPLACED_OPTIONS:
            next(rest, None)
        elif not word.startswith(tuple(f"{option}=" for option in REPLACED_OPTIONS)):
            yield word


def find_free_port(host: str, taken: int) -> int:
    """Return the first port from this one on that is free; 0, which takes any, if there is none near."""
    for port in range(taken, min(taken + TRIED_PORTS, 65536)):
        try:
            family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind, number) as candidate:
                candidate.bind(address)
        except OSError:
            continue
        return port
    return 0
