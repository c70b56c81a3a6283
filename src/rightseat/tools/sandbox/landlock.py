"""Landlock: a process gives up all access to files except beneath the paths of its rules (kernel 5.13).

From version 6 (kernel 6.12) also signals to processes outside and abstract Unix sockets. A process with rules cannot
trace or read the memory of one without them, in any version and for any user.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

from rightseat.tools.sandbox.kernel import LayerUnavailable, call_kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
READ_RIGHTS = EXECUTE | READ_FILE | READ_DIR
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
DEVICE_RIGHTS = WRITE_FILE | READ_FILE
# All rights that each version knows.
_ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
SCOPE_VERSION = 6
TRUNCATE_VERSION = 3
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_GET_VERSION = 1
_RULE_PATH_BENEATH = 1


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def get_landlock_version() -> int:
    """Return the kernel's version of Landlock; 0 if it has none or a container forbids it."""
    try:
        return call_kernel("landlock_create_ruleset", None, 0, _GET_VERSION)
    except LayerUnavailable:
        return 0


def restrict_files(readable: Iterable[str], devices: Iterable[str], writable: Iterable[str]) -> None:
    """Restrict this thread and its children to these paths. It needs no_new_privs."""
    version = get_landlock_version()
    if version == 0:
        raise LayerUnavailable("the kernel has no Landlock, or the container forbids it")
    every = _ALL_RIGHTS[min(version, 5)]
    attributes = _RulesetAttributes(every, 0, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if version >= SCOPE_VERSION else 0)
    # An older kernel refuses a structure that is longer than its own.
    size = 24 if version >= SCOPE_VERSION else 8
    ruleset = call_kernel("landlock_create_ruleset", ctypes.byref(attributes), size, 0)
    try:
        for paths, rights in ((readable, READ_RIGHTS), (devices, DEVICE_RIGHTS), (writable, every)):
            for path in paths:
                _add_rule(ruleset, path, rights & every)
        call_kernel("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # No such path on this machine: there is nothing to allow.
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FILE_RIGHTS
        rule = _PathBeneath(rights, descriptor)
        call_kernel("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
