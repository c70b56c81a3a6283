"""Identity of a confined child: its own user, no capabilities, no new privileges. Memory of the server closed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct

from rightseat.tools.sandbox.kernel import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    LayerUnavailable,
    call_libc,
    is_linux,
    set_process_option,
)

_CAPABILITY_VERSION = 0x20080522
_MAX_CAPABILITIES = 64


def close_process_memory() -> bool:
    """Close /proc/PID/environ, /proc/PID/mem and tracing of this process to others of its user; returns whether it is
    closed. Core dumps, and debuggers and profilers of the same user, stop working."""
    if not is_linux():
        return False
    try:
        set_process_option(PR_SET_DUMPABLE, 0)
    except LayerUnavailable:
        return False
    return True


def forbid_new_privileges() -> None:
    """Make programs with a set-user-id bit or file capabilities give this process nothing."""
    set_process_option(PR_SET_NO_NEW_PRIVS, 1)


def become_user(uid: int) -> None:
    """Give up the groups and the user of this process for the user and group `uid`."""
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError as error:
        raise LayerUnavailable(f"the user cannot be changed: {error.strerror}") from None


def limit_capabilities() -> None:
    """Remove what the children of this process could ever be given. It needs capabilities itself."""
    with contextlib.suppress(LayerUnavailable):
        set_process_option(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for number in range(_MAX_CAPABILITIES):
        # The kernel knows fewer, and a process without capabilities may not.
        with contextlib.suppress(LayerUnavailable):
            set_process_option(PR_CAPBSET_DROP, number)


def drop_capabilities() -> None:
    """Give up all capabilities of this process, of root and in a user namespace too."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0))
    none = ctypes.create_string_buffer(struct.pack("=6I", 0, 0, 0, 0, 0, 0))
    call_libc("capset", header, none)
