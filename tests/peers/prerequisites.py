"""What a test cannot do without: a peer, a program of the system, what our pages show.

    require("openai-js")       a peer of tests/peers, in .peers
    require(POSTGRES)          a program that the system's packages bring

What is missing is installed where that is possible without asking anybody. Else the test is skipped by one
line that says what is missing and how to get it; in CI, where everything must be there, it fails by the same
line. No failure of what is tested reads so: "NAME is missing: …", or "could not install NAME: …" where that
was tried.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import assets
from tests.peers import install
from tests.peers.install import NODE, RETRY_HINT, InstallError, ProgramMissing, SystemProgram, hold_lock

PAGE_ASSETS = "what the pages show"
skip_reasons: dict[str, str] = {}
"""Why something could not be had, by its name: what was tried in vain is not tried again for each test."""


def require(prerequisite: str | SystemProgram) -> Path:
    """The folder of a peer, or a program's file."""
    if isinstance(prerequisite, SystemProgram):
        return get_or_skip(prerequisite.title, prerequisite.find_or_install)
    return get_or_skip(prerequisite, lambda: install_peer(prerequisite))


def require_assets(package: str) -> str:
    """GraphiQL and ECharts, put into our own package; gives the version of one of them."""
    get_or_skip(PAGE_ASSETS, fetch_page_assets)
    locked = json.loads((assets.LOCK_FOLDER / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    version: str = locked[f"node_modules/{package}"]["version"]
    return version


def install_peer(name: str) -> Path:
    install.install(name)
    return install.PEERS_FOLDER / name


def fetch_page_assets() -> Path:
    with hold_lock("assets"):
        if not all((assets.PACKAGE / name).is_file() for name in assets.FILES):
            NODE.find_or_install()
            assets.fetch_assets()
    return assets.PACKAGE


def get_or_skip(name: str, find: Callable[[], Path]) -> Path:
    if name not in skip_reasons:
        try:
            return find()
        except InstallError as error:
            skip_reasons[name] = explain_failure(name, error)
    if is_ci():
        pytest.fail(skip_reasons[name], pytrace=False)
    pytest.skip(skip_reasons[name])


def explain_failure(name: str, error: InstallError) -> str:
    if isinstance(error, ProgramMissing):
        return str(error)
    advice = "" if RETRY_HINT in str(error) else f"; look whether its packages can be reached, {RETRY_HINT}"
    return f"could not install {name}: {error}{advice}"


def is_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")
