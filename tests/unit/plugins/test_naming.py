"""Tool names: what every upstream takes, the same tomorrow, and never the same for two tools."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.plugins.plugin import make_tool_name

ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_plain_names_are_left_as_they_are() -> None:
    assert make_tool_name("cmdb_ops", "list_hosts") == "cmdb_ops_list_hosts"
    assert make_tool_name("Compatibility-AI-Infra", "get_x") == "Compatibility-AI-Infra_get_x"


@pytest.mark.demand("plugins.names_stable_model_friendly")
def test_names_that_cannot_be_written_so_have_a_stable_hash() -> None:
    # Not to change: models, pins and flows know tools by these.
    assert make_tool_name("主机资产", "list") == "p2b21a8_list"
    assert make_tool_name("主机", "list") != make_tool_name("主人", "list")
    assert make_tool_name("Zoë", "list").startswith("Zoe_")


@pytest.mark.demand("plugins.names_stable_model_friendly")
def test_long_names_and_names_that_are_taken() -> None:
    long = make_tool_name("p" * 40, "o" * 40)
    assert len(long) == 64
    assert long != make_tool_name("p" * 40, "o" * 41)
    first = make_tool_name("a_b", "c")
    assert first == make_tool_name("a", "b_c")
    assert make_tool_name("a", "b_c", {first}) not in (first, make_tool_name("a_b", "c", {first}))


@pytest.mark.demand("plugins.names_stable_model_friendly")
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_name_becomes_one_that_is_allowed(plugin: str, tool: str) -> None:
    name = make_tool_name(plugin, tool)
    assert ALLOWED.fullmatch(name)
    assert name == make_tool_name(plugin, tool)
