"""`App.configure`: an app that was configured anew is in no way different from one that was started so."""

import re
from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import pytest
from msgspec import Struct, structs

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, GraphQLLimits, ServerSettings
from rightseat.errors import ConfigError
from rightseat.http.auth import Authenticator
from rightseat.http.endpoint import Door
from rightseat.server.app import App
from tests.kit.app_server import FakeModel
from tests.kit.cases import each_case

OLD = ServerSettings()
# Every key of [server] has another value than in OLD, which a test below checks.
NEW = ServerSettings(
    host="10.0.0.1",
    port=1,
    workers=2,
    public_url="https://example.com",
    cors=("https://page.example",),
    hosts=("other.example",),
    trusted_proxies=("10.0.0.2",),
    max_body_mb=1,
    max_header_kb=1,
    header_timeout=1,
    body_timeout=1,
    keep_alive=1,
    first_byte=1,
    send_timeout=1,
    grace=1,
    max_runs=1,
    log="json",
    log_level="error",
    access_log=False,
    metrics="off",
    introspection=True,
    stream_arguments=True,
    graphql=GraphQLLimits(max_depth=1),
    forward_headers=("x-tenant",),
    fetch_allow=("10.0.0.3",),
    mcp_allow=("https://mcp.example",),
    aliases={"other": "default"},
    trace_content=True,
    debug_events=True,
    environment="production",
)
KEYED = Authenticator(AuthSettings(keys={"ann": Secret("k-ann")}))


def capture_state(value: Any, seen: set[int]) -> Any:
    """All that `value` holds, in its attributes and in the variables of its functions, as plain data that can
    be compared. An object whose id is in `seen` is not looked into again."""
    if value is None or isinstance(value, str | bytes | int | float | set | frozenset | re.Pattern):
        return value
    if id(value) in seen:
        return "seen before"
    seen.add(id(value))
    if isinstance(value, Mapping):
        return {key: capture_state(item, seen) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [capture_state(item, seen) for item in value]
    if isinstance(value, FunctionType):
        return value.__qualname__, [capture_state(cell.cell_contents, seen) for cell in value.__closure__ or ()]
    if isinstance(value, MethodType):
        return value.__qualname__, capture_state(value.__self__, seen)
    if isinstance(value, partial):
        return "partial", capture_state([value.func, value.args, value.keywords], seen)
    held = structs.asdict(value) if isinstance(value, Struct) else getattr(value, "__dict__", {})
    return type(value).__qualname__, {name: capture_state(item, seen) for name, item in held.items()}


def capture_app_state(app: App) -> Any:
    # The runtime is swapped by itself.
    return capture_state(app, {id(app.runtime)})


@pytest.mark.demand("server.after_sighup_setting_running", "tests.sighup_applies_setting_reloaded")
def test_an_app_configured_anew_is_as_one_that_was_started_so() -> None:
    runtime, doors = Runtime(model=FakeModel()), list[Door]()
    changed = App(runtime, OLD, doors)
    assert capture_app_state(changed) != capture_app_state(App(runtime, NEW, doors, authenticate=KEYED))
    changed.configure(NEW, KEYED)
    assert capture_app_state(changed) == capture_app_state(App(runtime, NEW, doors, authenticate=KEYED))


@each_case("name", OLD.__struct_fields__)
def test_each_setting_is_another(name: str) -> None:
    assert getattr(NEW, name) != getattr(OLD, name), f"give {name} another value in NEW"


@pytest.mark.demand("server.after_sighup_setting_running")
def test_a_setting_that_only_the_start_reads_would_be_seen() -> None:
    class ByAttribute(App):
        def __init__(self, runtime: Runtime, settings: ServerSettings, doors: list[Door]) -> None:
            super().__init__(runtime, settings, doors)
            self.late = settings.access_log

    class ByClosure(App):
        def __init__(self, runtime: Runtime, settings: ServerSettings, doors: list[Door]) -> None:
            super().__init__(runtime, settings, doors)
            log = settings.access_log
            self.late = lambda: log

    class ByPartial(App):
        def __init__(self, runtime: Runtime, settings: ServerSettings, doors: list[Door]) -> None:
            super().__init__(runtime, settings, doors)
            self.late = partial(bool, settings.access_log)

    for kind, alike in ((App, True), (ByAttribute, False), (ByClosure, False), (ByPartial, False)):
        changed = kind(Runtime(model=FakeModel()), OLD, [])
        changed.configure(NEW, changed.authenticate)
        assert (capture_app_state(changed) == capture_app_state(kind(changed.runtime, NEW, []))) == alike


def test_settings_that_are_refused_change_nothing() -> None:
    app = App(Runtime(model=FakeModel()), OLD, [])
    before = capture_app_state(app)
    with pytest.raises(ConfigError, match="trusted_proxies"):
        app.configure(structs.replace(NEW, trusted_proxies=("999.1.1.1",)), KEYED)
    assert capture_app_state(app) == before
