"""seccomp: a filter that refuses system calls no tool needs: tracing, other processes' limits, mounts, Unix sockets."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

from rightseat.tools.sandbox.kernel import PR_SET_SECCOMP, LayerUnavailable, find_number, set_process_option

REFUSED_CALLS = (
    # Memory and descriptors of other processes
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_getfd"),
    *("perf_event_open", "bpf", "userfaultfd", "migrate_pages", "move_pages"),
    # Calls that pass by filters and by paths
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "name_to_handle_at", "open_by_handle_at"),
    # Keys that processes of one user share
    *("add_key", "request_key", "keyctl"),
    # Mounts and namespaces
    *("mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount"),
    *("fspick", "mount_setattr", "unshare", "setns"),
    *("ioprio_set", "setpriority"),
)
# Landlock knows no rights for modes, owners and attributes of files.
METADATA_CALLS = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr"),
    "removexattrat",
)
# The first argument is a process; 0 is the caller.
OWN_PROCESS_CALLS = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
SIGNAL_CALLS = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
THREAD_SIGNAL_CALLS = ("tkill", "pidfd_send_signal")
# Network and processes, for code that a model wrote.
ALONE_CALLS = ("socket", "fork", "vfork")
ARCHITECTURES = {"x86_64": 0xC000003E, "amd64": 0xC000003E, "aarch64": 0xC00000B7, "arm64": 0xC00000B7}
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_BITS = 0x15, 0x35, 0x45
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENT_OFFSET = 0, 4, 16
# x86_64: numbers of the x32 variant, which would pass by every comparison.
_X32_NUMBERS = 0x40000000
_CLONE_NEW_USER = 0x10000000
_CLONE_THREAD = 0x00010000
_FILTER_MODE = 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


class FilterProgram:
    """Instructions of a filter; each rule leaves the number of the call loaded for the next."""

    def __init__(self) -> None:
        self.instructions: list[bytes] = []

    def add(self, code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> None:
        self.instructions.append(struct.pack("=HBBI", code, jump_true, jump_false, value & 0xFFFFFFFF))

    def check_architecture(self, architecture: int) -> None:
        self.add(_LOAD, _ARCHITECTURE_OFFSET)
        self.add(_JUMP_EQUAL, architecture, 1, 0)
        self.add(_RETURN, _REFUSE | errno.ENOSYS)
        self.add(_LOAD, _NUMBER_OFFSET)
        if architecture == ARCHITECTURES["x86_64"]:
            self.add(_JUMP_GREATER_EQUAL, _X32_NUMBERS, 0, 1)
            self.add(_RETURN, _REFUSE | errno.ENOSYS)

    def refuse(self, name: str, error: int = errno.EPERM) -> None:
        if (number := find_number(name)) is not None:
            self.add(_JUMP_EQUAL, number, 0, 1)
            self.add(_RETURN, _REFUSE | error)

    def refuse_value(self, name: str, value: int, *, bits: bool = False) -> None:
        """Refuse a call whose first argument is the value, or has its bits."""
        if (number := find_number(name)) is not None:
            self.add(_JUMP_EQUAL, number, 0, 4)
            self.add(_LOAD, _ARGUMENT_OFFSET)
            self.add(_JUMP_BITS if bits else _JUMP_EQUAL, value, 0, 1)
            self.add(_RETURN, _REFUSE | errno.EPERM)
            self.add(_RETURN, _ALLOW)

    def require_bits(self, name: str, bits: int) -> None:
        """Refuse a call unless its first argument has one of the bits."""
        if (number := find_number(name)) is not None:
            self.add(_JUMP_EQUAL, number, 0, 4)
            self.add(_LOAD, _ARGUMENT_OFFSET)
            self.add(_JUMP_BITS, bits, 1, 0)
            self.add(_RETURN, _REFUSE | errno.EPERM)
            self.add(_RETURN, _ALLOW)

    def allow_values(self, name: str, *values: int) -> None:
        """Refuse a call unless its first argument has one of the values."""
        if (number := find_number(name)) is not None:
            self.add(_JUMP_EQUAL, number, 0, 2 * len(values) + 2)
            self.add(_LOAD, _ARGUMENT_OFFSET)
            for value in values:
                self.add(_JUMP_EQUAL, value, 0, 1)
                self.add(_RETURN, _ALLOW)
            self.add(_RETURN, _REFUSE | errno.EPERM)

    def refuse_truncating_read(self, name: str, argument: int) -> None:
        """Refuse to open a file for reading and to empty it at once; `argument` is the number of the flags."""
        if (number := find_number(name)) is not None:
            self.add(_JUMP_EQUAL, number, 0, 6)
            self.add(_LOAD, _ARGUMENT_OFFSET + 8 * argument)
            self.add(_JUMP_BITS, os.O_TRUNC, 0, 3)
            self.add(_AND, os.O_ACCMODE)
            self.add(_JUMP_EQUAL, os.O_RDONLY, 0, 1)
            self.add(_RETURN, _REFUSE | errno.EPERM)
            self.add(_RETURN, _ALLOW)

    def install(self) -> None:
        self.add(_RETURN, _ALLOW)
        program = _Program(len(self.instructions), b"".join(self.instructions))
        set_process_option(PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program))


def refuse_calls(*, signals: bool, metadata: bool, truncate: bool, alone: bool = False) -> None:
    """Install the filter in this thread and its children. The flags are for what no other layer refuses: `signals` to
    other processes, changes of modes and owners as `metadata`, and to `truncate` files without a right to write.
    `alone`: no sockets and no processes of its own; threads stay."""
    architecture = ARCHITECTURES.get(platform.machine().lower())
    if architecture is None or find_number("ptrace") is None:
        raise LayerUnavailable(f"the filter does not know {platform.machine()}")
    program = FilterProgram()
    program.check_architecture(architecture)
    for name in (*REFUSED_CALLS, *(METADATA_CALLS if metadata else ())):
        program.refuse(name)
    if truncate:
        program.refuse("truncate")
        # It has its flags in memory, which a filter cannot read.
        program.refuse("openat2", errno.ENOSYS)
        program.refuse_truncating_read("open", 1)
        program.refuse_truncating_read("openat", 2)
    # The C library falls back to clone, whose flags a filter can read.
    program.refuse("clone3", errno.ENOSYS)
    if alone:
        for name in ALONE_CALLS:
            program.refuse(name)
        program.require_bits("clone", _CLONE_THREAD)
    program.refuse_value("clone", _CLONE_NEW_USER, bits=True)
    # Sockets of local services (Docker, D-Bus) are files that Landlock does not close. socketpair stays.
    program.refuse_value("socket", 1)
    for name in OWN_PROCESS_CALLS:
        program.allow_values(name, 0, os.getpid())
    if signals:
        for name in SIGNAL_CALLS:
            program.allow_values(name, os.getpid(), *([0, -os.getpid()] if name == "kill" else []))
        for name in THREAD_SIGNAL_CALLS:
            program.refuse(name)
    program.install()
