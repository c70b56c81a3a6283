"""The reference pages: written from the code, complete, and red when stale."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from checks import error_pages, reference
from rightseat import errors
from rightseat.cli import app
from rightseat.config import settings
from rightseat.server.error_pages import get_meaning
from tests.kit.cases import each_case


@pytest.mark.demand("doctor.config_cli_error_reference")
def test_every_key_is_there() -> None:
    page = reference.build_config_page()
    kinds = [kind for _, kind in reference.list_tables()]
    assert {settings.ServerSettings, settings.JwtSettings, settings.AssistantSettings} <= set(kinds)
    keys = {field.name for kind in kinds for field in msgspec.structs.fields(kind)} - {"options"}
    assert [key for key in keys if f"| `{key}` |" not in page] == []
    assert "| `port` | whole number, at least 0, at most 65535 | `7777` |" in page


@pytest.mark.demand("doctor.config_cli_error_reference")
def test_every_command_is_there() -> None:
    page = reference.build_cli_page()
    for command in app.registered_commands:
        assert command.callback is not None
        assert f"\n## rightseat {command.callback.__name__}\n" in page
    assert "--json" in page


@pytest.mark.demand("doctor.config_cli_error_reference", "models.docs_models_md_docs")
def test_every_error_is_there() -> None:
    overview = error_pages.build_overview()
    kinds = [errors.RightseatError]
    for kind in kinds:
        kinds += [one for one in kind.__subclasses__() if one.__module__ == errors.__name__]
        assert f"| [`{kind.code}`](errors/{kind.code}.md) | {kind.status} | {kind.fault} | " in overview
        page = error_pages.build_page(kind)
        assert kind.hint in page
        assert get_meaning(kind) in page
        assert page.count("\n| OpenAI |") == page.count("\n| OpenBB |") == 1


def test_a_code_has_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors.Conflict, "code", "not_found")
    with pytest.raises(error_pages.UndocumentedError, match="used twice: not_found"):
        error_pages.list_errors()


@each_case(
    ("kind", "word"),
    [
        (str, "text"),
        (float | None, "number"),
        (tuple[str, ...], "list of text"),
        (dict[str, int], "table of whole number"),
        (Literal["a", "b"], "`a` or `b`"),
        (Annotated[int, msgspec.Meta(ge=1)], "whole number, at least 1"),
        (settings.JwtSettings | None, "table"),
        (Any, "any value"),
    ],
)
def test_types_are_said_in_words(kind: Any, word: str) -> None:
    assert reference.describe_type(kind) == word


@pytest.mark.demand("doctor.config_cli_error_reference")
def test_a_key_without_a_meaning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "read_meanings", lambda kind: {"host": "Where."})
    with pytest.raises(error_pages.UndocumentedError, match=r"ServerSettings\.port"):
        reference.build_config_page()


@pytest.mark.demand("doctor.config_cli_error_reference")
def test_an_error_outside_the_tree_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "__doc__", "RightseatError 500 ours something")
    with pytest.raises(error_pages.UndocumentedError, match="CallerError 400"):
        error_pages.build_overview()


@pytest.mark.demand("doctor.config_cli_error_reference", "models.docs_models_md_docs")
@pytest.mark.slow
def test_stale_pages_are_red_until_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "reference")
    assert reference.main([]) == 1
    assert "make reference" in capsys.readouterr().out
    assert reference.main(["--write"]) == 0
    assert reference.main([]) == 0
    (tmp_path / "reference/cli.md").write_text("old")
    assert reference.main([]) == 1
    assert "cli.md" in capsys.readouterr().out
    assert reference.main(["--write"]) == 0
    (tmp_path / "errors/no_such_error.md").write_text("old")
    assert reference.main([]) == 1
    assert reference.main(["--write"]) == 0
    assert not (tmp_path / "errors/no_such_error.md").exists()
