"""SandboxPlan: what a confined child may read and write, and the layers that it enters; its scratch folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

Layer = Literal["namespace", "uid", "landlock", "seccomp"]
# In the order in which a child enters them: each but the last may need calls that the next refuses.
LAYERS: tuple[Layer, ...] = ("namespace", "uid", "landlock", "seccomp")
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store")
# Name lookup, certificates, time zones, fonts and the dynamic linker; no accounts, and no settings of services.
SYSTEM_FILES = (
    *("/etc/ssl", "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/crypto-policies"),
    *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf"),
    *("/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/mime.types"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/fonts"),
    "/sys/devices/system/cpu",
)
# Only with Landlock, which closes the folders of other processes.
PROCESS_FILES = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "PYTHONHOME")
# User ids that no distribution gives to a person or a service.
FIRST_USER_ID, USER_ID_COUNT = 64100, 800
# Entries of a plugin's folder whose modes are read.
MAX_ENTRIES = 5000


class SandboxPlan(Struct, frozen=True, kw_only=True):
    layers: tuple[Layer, ...]
    readable: tuple[str, ...]
    """Absolute paths that the child may read and execute, with all that is beneath them."""
    folder: str
    """Working folder of the child."""
    scratch: str = ""
    """Folder of one child, the only one that it may write. Beside it is the mount point of its new root."""
    uid: int = 0
    """User and group of the child, with the layer `uid`."""
    alone: bool = False
    """Whether the child may open no sockets and start no processes, with the layer `seccomp`."""


def make_plan(folder: Path, layers: tuple[Layer, ...], more: tuple[str, ...] = ()) -> SandboxPlan:
    """Make the plan of a plugin. The layer `uid` is left out where its user could not read the plugin."""
    interpreter = list_interpreter_paths()
    readable = (*SYSTEM_FOLDERS, *SYSTEM_FILES, *interpreter, str(folder), *more)
    may_change = os.name == "posix" and os.geteuid() == 0
    if "uid" in layers and not (
        may_change and _can_others_read(folder, (*interpreter, *more), "namespace" not in layers)
    ):
        layers = tuple(layer for layer in layers if layer != "uid")
    uid = choose_user_id(folder) if "uid" in layers else 0
    return SandboxPlan(layers=layers, readable=tuple(dict.fromkeys(readable)), folder=str(folder), uid=uid)


def list_interpreter_paths() -> list[str]:
    """List the folders of Python, its packages and their libraries."""
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    real = os.path.realpath(sys.executable)
    paths = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, real, *list_import_paths())
    return list(dict.fromkeys(path for path in (*paths, *libraries) if os.path.isabs(path)))


def list_import_paths() -> list[str]:
    """List the entries of sys.path that belong to the installation: never the folder in which the server was started,
    which has its configuration."""
    prefixes = tuple({sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix})
    package_root = str(Path(__file__).resolve().parents[3])
    chosen = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    here = os.getcwd()
    return [
        path
        for path in dict.fromkeys(os.path.abspath(path) for path in sys.path if path)
        if path == package_root
        or path.endswith(("site-packages", "dist-packages"))
        or any(Path(path).is_relative_to(prefix) for prefix in prefixes)
        or (path in chosen and path != here)
    ]


def choose_user_id(folder: Path) -> int:
    """Return a user id that belongs to this plugin and to no account."""
    import pwd

    start = zlib.crc32(os.fsencode(folder)) % USER_ID_COUNT
    for number in range(USER_ID_COUNT):
        uid = FIRST_USER_ID + (start + number) % USER_ID_COUNT
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid
    return 65534


def _can_others_read(folder: Path, paths: tuple[str, ...], parents: bool) -> bool:
    """Tell whether any user may read these paths and all of the plugin. `parents`: also pass the folders above."""
    tops = [Path(path).resolve() for path in (*paths, str(folder)) if os.path.exists(path)]
    ancestors = [parent for top in tops for parent in top.parents] if parents else []
    try:
        if any(not parent.stat().st_mode & 0o001 for parent in ancestors):
            return False
        if any(not _is_open(str(top)) for top in tops):
            return False
        count = 0
        for place, folders, files in os.walk(folder):
            count += len(folders) + len(files)
            if count > MAX_ENTRIES or not all(_is_open(os.path.join(place, name)) for name in (*folders, *files)):
                return False
    except OSError:
        return False
    return True


def _is_open(path: str) -> bool:
    needed = 0o005 if os.path.isdir(path) else 0o004
    return os.stat(path).st_mode & needed == needed


def make_environment(plan: SandboxPlan) -> dict[str, str]:
    """Return the variables that Python needs in the sandbox."""
    inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    folders = dict.fromkeys(("HOME", "TMPDIR"), plan.scratch)
    # No bytecode: the plugin's folder is read-only.
    return {**inherited, **folders, "PYTHONPATH": os.pathsep.join(list_import_paths()), "PYTHONDONTWRITEBYTECODE": "1"}


def add_scratch(plan: SandboxPlan) -> SandboxPlan:
    """Return the plan with a new scratch folder, for one child."""
    # Resolved: a rule of the kernel is for the folder, not for a link to it.
    base = Path(tempfile.mkdtemp(prefix="rightseat-tool-")).resolve()
    scratch = base / "files"
    try:
        scratch.mkdir(mode=0o700)
        (base / "root").mkdir(mode=0o755)
        if plan.uid:
            base.chmod(0o711)
            os.chown(scratch, plan.uid, plan.uid)
    except OSError:
        shutil.rmtree(base, ignore_errors=True)
        raise
    return structs.replace(plan, scratch=str(scratch))


def remove_scratch(plan: SandboxPlan) -> None:
    """Remove the scratch folder of a child that has ended."""
    if plan.scratch:
        shutil.rmtree(Path(plan.scratch).parent, ignore_errors=True)


def empty_scratch(plan: SandboxPlan) -> None:
    """Remove the files of the scratch folder: what a child can do when its server is gone."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(plan.scratch):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
