"""The fields of plugins: told in two languages, from what the reader itself knows."""

from __future__ import annotations

import re

import pytest

from checks import plugin_fields
from rightseat.plugins.manifest import OIDC_KEYS
from rightseat.plugins.openapi.lint import load_field_tables


def list_fields(language: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", plugin_fields.build_page(language), re.MULTILINE)


@pytest.mark.demand("plugins.docs_plugins_md_english")
def test_every_field_is_told_in_both_languages() -> None:
    assert list_fields("en") == list_fields("zh")
    for name in ("id", "name", "description", "predefined_question", "automatic_flow", "auth", "type", "args"):
        assert name in list_fields("en")
    assert {"servers", "paths", "dangerous", "requestBody", "in", "explode", "pattern", "$ref"} <= set(
        list_fields("en")
    )
    assert set(OIDC_KEYS) - set(list_fields("en")) == {"expires_minutes", "access_token"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_field_says_something(language: str) -> None:
    meanings = re.findall(r"^\| `[^`]+` \| (.*) \|$", plugin_fields.build_page(language), re.MULTILINE)
    assert len(meanings) == len(list_fields(language)) > 50
    assert [said for said in meanings if len(said) < 4] == []
    chinese = [said for said in meanings if re.search("[一-鿿]", said)]
    assert len(chinese) == (len(meanings) if language == "zh" else 0)


def test_each_has_both_and_no_more() -> None:
    assert {len(said) for keys in load_field_tables().values() for said in keys.values()} == {2}
