"""Tool names: what every upstream takes, the same tomorrow, and never the same for two tools."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.plugins.naming import named

ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_plain_names_are_left_as_they_are() -> None:
    assert named("cmdb_ops", "list_hosts") == "cmdb_ops_list_hosts"
    assert named("Compatibility-AI-Infra", "get_x") == "Compatibility-AI-Infra_get_x"


@pytest.mark.demand("plugins.names_stable_model_friendly")
def test_names_that_cannot_be_written_so_have_a_stable_hash() -> None:
    # Not to change: models, pins and flows know tools by these.
    assert named("主机资产", "list") == "p2b21a8_list"
    assert named("主机", "list") != named("主人", "list")
    assert named("Zoë", "list").startswith("Zoe_")


@pytest.mark.demand("plugins.names_stable_model_friendly")
def test_long_names_and_names_that_are_taken() -> None:
    long = named("p" * 40, "o" * 40)
    assert len(long) == 64
    assert long != named("p" * 40, "o" * 41)
    first = named("a_b", "c")
    assert first == named("a", "b_c")
    assert named("a", "b_c", {first}) not in (first, named("a_b", "c", {first}))


@pytest.mark.demand("plugins.names_stable_model_friendly")
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_name_becomes_one_that_is_allowed(plugin: str, tool: str) -> None:
    name = named(plugin, tool)
    assert ALLOWED.fullmatch(name)
    assert name == named(plugin, tool)
