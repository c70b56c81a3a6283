"""System calls by ctypes: Python has no functions for them. Numbers of x86_64 and aarch64."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from typing import Any

# Numbers of system calls: x86_64, aarch64. None: the architecture has no such call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "clone": (56, 220),
    "clone3": (435, 435),
    "socket": (41, 198),
    "fork": (57, None),
    "vfork": (58, None),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "truncate": (76, 45),
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
}
# Calls of the last years have one number everywhere.
_COMMON_NUMBERS = {"landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446}
_COLUMNS = {"x86_64": 0, "amd64": 0, "aarch64": 1, "arm64": 1}
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4


class LayerUnavailable(Exception):
    """This machine does not let a process enter a layer; the text says why."""


def is_linux() -> bool:
    return sys.platform == "linux"


@functools.cache
def get_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def find_number(name: str) -> int | None:
    """Return the number of a system call on this architecture; None if it is unknown or there is none."""
    if name in _COMMON_NUMBERS:
        return _COMMON_NUMBERS[name]
    column = _COLUMNS.get(platform.machine().lower())
    # A 32-bit interpreter on a 64-bit kernel has other numbers.
    return None if column is None or sys.maxsize < 2**32 else _NUMBERS[name][column]


def call_kernel(name: str, *args: Any) -> int:
    """Make a system call by its name; LayerUnavailable if the kernel refuses it."""
    number = find_number(name)
    if number is None:
        raise LayerUnavailable(f"{name} is not known on {platform.machine()}")
    return _check(name, get_libc().syscall(ctypes.c_long(number), *map(_to_word, args)))


def call_libc(name: str, *args: Any) -> int:
    """Call a function of the C library; LayerUnavailable if it fails or is missing."""
    try:
        function = get_libc()[name]
    except AttributeError:
        raise LayerUnavailable(f"the C library has no {name}") from None
    return _check(name, function(*map(_to_word, args)))


def set_process_option(option: int, *args: Any) -> int:
    """Call prctl, with zeros for arguments that are not given."""
    return call_libc("prctl", option, *args, *[0] * (4 - len(args)))


def _to_word(value: Any) -> Any:
    # A plain int is passed as 32 bits: the upper half of a variadic argument would be undefined.
    return ctypes.c_long(value) if isinstance(value, int) else value


def _check(name: str, value: int) -> int:
    if value == -1:
        raise LayerUnavailable(f"{name}: {os.strerror(ctypes.get_errno())}")
    return value
