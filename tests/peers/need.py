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
from tests.peers.install import AGAIN, NODE, InstallError, Missing, Program, alone

PAGES = "what the pages show"
reasons: dict[str, str] = {}
"""Why something could not be had, by its name: what was tried in vain is not tried again for each test."""


def require(what: str | Program) -> Path:
    """The folder of a peer, or a program's file."""
    if isinstance(what, Program):
        return get(what.title, what.get)
    return get(what, lambda: peer(what))


def require_assets(package: str) -> str:
    """GraphiQL and ECharts, put into our own package; gives the version of one of them."""
    get(PAGES, fetch)
    locked = json.loads((assets.LOCKED / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    version: str = locked[f"node_modules/{package}"]["version"]
    return version


def peer(name: str) -> Path:
    install.install(name)
    return install.PLACE / name


def fetch() -> Path:
    with alone("assets"):
        if not all((assets.PACKAGE / name).is_file() for name in assets.FILES):
            NODE.get()
            assets.fetch()
    return assets.PACKAGE


def get(name: str, find: Callable[[], Path]) -> Path:
    if name not in reasons:
        try:
            return find()
        except InstallError as error:
            reasons[name] = reason(name, error)
    if in_ci():
        pytest.fail(reasons[name], pytrace=False)
    pytest.skip(reasons[name])


def reason(name: str, error: InstallError) -> str:
    if isinstance(error, Missing):
        return str(error)
    advice = "" if AGAIN in str(error) else f"; look whether its packages can be reached, {AGAIN}"
    return f"could not install {name}: {error}{advice}"


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")
