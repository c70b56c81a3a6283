"""Mount namespace: a new root that has only the readable paths, read-only, and the scratch folder (kernel 5.12)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from rightseat.tools.sandbox.kernel import LayerUnavailable, call_kernel, call_libc

_NEW_MOUNTS, _NEW_IPC, _NEW_USER = 0x00020000, 0x08000000, 0x10000000
_NO_SUID, _NO_DEVICES, _BIND, _RECURSIVE, _PRIVATE = 2, 4, 4096, 16384, 1 << 18
_DETACH = 2
_ATTR_READ_ONLY, _ATTR_NO_SUID, _ATTR_NO_DEVICES = 1, 2, 4
_AT_CWD, _AT_RECURSIVE = -100, 0x8000


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def enter_namespace(readable: Iterable[str], devices: Iterable[str], scratch: str, folder: str) -> None:
    """Move this process into a root of its own. The caller has one thread; its working folder becomes `folder`."""
    _unshare()
    _mount("none", "/", None, _RECURSIVE | _PRIVATE)
    root = Path(scratch).with_name("root")
    _mount("tmpfs", str(root), "tmpfs", _NO_SUID | _NO_DEVICES, b"mode=755,size=1m")
    try:
        _bind_paths(root, readable, _ATTR_READ_ONLY | _ATTR_NO_SUID | _ATTR_NO_DEVICES)
        _bind_paths(root, devices, _ATTR_NO_SUID)
        _bind_paths(root, [scratch], _ATTR_NO_SUID | _ATTR_NO_DEVICES)
        _set_attributes(root, _ATTR_READ_ONLY, recursive=False)
        os.chdir(root)
        call_kernel("pivot_root", b".", b".")
        call_libc("umount2", b".", _DETACH)
        os.chdir(folder)
    except OSError as error:
        raise LayerUnavailable(f"{error.filename}: {error.strerror}") from None


def _unshare() -> None:
    uid, gid = os.geteuid(), os.getegid()
    try:
        call_libc("unshare", _NEW_MOUNTS | _NEW_IPC)
        return
    except LayerUnavailable:
        # Only root may without a user namespace.
        call_libc("unshare", _NEW_MOUNTS | _NEW_IPC | _NEW_USER)
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    except OSError as error:
        raise LayerUnavailable(f"user namespaces are restricted: {error.strerror}") from None


def _bind_paths(root: Path, paths: Iterable[str], attributes: int) -> None:
    """Bind each path at its own name below the root; a name that is a link becomes a link there."""
    existing = [path for path in paths if os.path.exists(path)]
    real_paths = sorted({os.path.realpath(path) for path in existing})
    bound: list[str] = []
    for real in real_paths:
        # Sorted: a folder comes before what is in it.
        if not any(Path(real).is_relative_to(other) for other in bound):
            _bind(root, real, attributes)
            bound.append(real)
    for path in existing:
        link = root / path.lstrip("/")
        if not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.realpath(path))


def _bind(root: Path, path: str, attributes: int) -> None:
    target = root / path.lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.isdir(path):
            target.mkdir()
        else:
            target.touch()
    _mount(path, str(target), None, _BIND | _RECURSIVE)
    _set_attributes(target, attributes, recursive=True)


def _mount(source: str, target: str, kind: str | None, flags: int, data: bytes | None = None) -> None:
    filesystem = kind.encode() if kind else None
    try:
        call_libc("mount", os.fsencode(source), os.fsencode(target), filesystem, flags, data)
    except LayerUnavailable as error:
        raise LayerUnavailable(f"{error} ({target})") from None


def _set_attributes(target: Path, attributes: int, *, recursive: bool) -> None:
    values = _MountAttributes(attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    call_kernel("mount_setattr", _AT_CWD, os.fsencode(target), flags, ctypes.byref(values), ctypes.sizeof(values))
