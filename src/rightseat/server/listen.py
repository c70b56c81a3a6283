"""The listening socket, with errors that say what to do."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.http.security import is_loopback


def check_exposure(config: Config) -> None:
    """Raise ConfigError where other machines can connect and no [auth] is set."""
    host = config.server.host
    if is_loopback(host) or config.auth.required:
        return
    raise ConfigError(
        f"{host} can be reached from other machines, and no [auth] is set: anyone could use this server.\n"
        "Either listen on this machine only: --host 127.0.0.1\n"
        "or give every user a key in rightseat.toml:\n"
        "    [auth.keys]\n"
        '    alice = "env:ALICE_KEY"'
    )


def open_listener(host: str, port: int) -> socket.socket:
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise ConfigError(f"There is no address {host!r} to listen on. Use --host 127.0.0.1.") from None
    listener = socket.socket(family, kind, number)
    try:
        # Without it a restart waits for TIME_WAIT of the last server's connections.
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise ConfigError(_explain_bind_error(error, host, port)) from None
    return listener


def _explain_bind_error(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 0
        return (
            f"Port {port} on {host} is in use, perhaps by another rightseat.\n"
            f"Stop that program, or take another port: --port {other} (0 takes a free one)."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"This user may not listen on port {port}. Take one above 1023: --port 7777."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine. Use --host 127.0.0.1."
    return f"Cannot listen on {host} port {port}: {error.strerror}."


def listener_url(listener: socket.socket, host: str) -> str:
    """Return the server's URL for a client on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{listener.getsockname()[1]}"


def write_ready_file(path: Path, base: str) -> None:
    """Write the URL to the ready file atomically: a waiting process must not read half a line."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(f"{base}\n")
        draft.replace(path)
    except OSError as error:
        raise ConfigError(f"RIGHTSEAT_READY_FILE: cannot write {path}: {error.strerror}.") from None


def raise_file_limit() -> None:
    """Raise the soft limit of open files: each stream takes a socket or two, and 1024 is for select()."""
    if os.name != "posix":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            # macOS may refuse its own hard limit: the soft one stays.
            return
