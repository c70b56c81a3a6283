"""What an author says of an agent: names that are refused, and the options of a request."""

from typing import Any

import pytest

from rightseat import AgentCard, CardEndpoints, CustomFeature, FeatureChoice
from rightseat.errors import ConfigError
from rightseat.types.agent_card import describe_options, resolve_options
from tests.kit.cases import each_case

SIZES = (FeatureChoice("Small", "s"), FeatureChoice("Large", "l"))
CARD = AgentCard(
    id="my_agent-1",
    features={
        "streaming": True,
        "deep-research": CustomFeature(label="Deep Research"),
        "web-search": CustomFeature(label="Web Search", default=True),
        "size": CustomFeature(label="Size", type="select", default="s", options=SIZES),
        "tone": CustomFeature(label="Tone", type="text", placeholder="e.g. dry"),
    },
    endpoints=CardEndpoints(query="/analyst/v1/query", feedback="https://votes.example/f"),
)
DEFAULTS = {"deep-research": False, "web-search": True, "size": "s", "tone": ""}


@pytest.mark.demand("openbb.options_reach_tools")
@each_case(
    ("posted", "changed"),
    [
        (None, {}),
        ({}, {}),
        ("deep-research", {}),
        ({"deep-research": True, "web-search": False}, {"deep-research": True, "web-search": False}),
        ({"size": "l", "tone": "dry", "other": [1]}, {"size": "l", "tone": "dry", "other": [1]}),
        ({"size": "xxl", "tone": 7, "deep-research": "yes"}, {}),
        ([], {"web-search": False}),
        (["deep-research", "size=l", "tone=a=b", "new", 7], {"deep-research": True, "web-search": False, "size": "l"}
         | {"tone": "a=b", "new": True}),
    ],
)  # fmt: skip
def test_options_are_what_the_client_sent_over_the_defaults(posted: Any, changed: dict[str, Any]) -> None:
    assert resolve_options(CARD, posted) == DEFAULTS | changed


def test_options_in_words() -> None:
    assert describe_options(CARD, DEFAULTS) == "Deep Research: off; Web Search: on; Size: s; Tone: "
    assert describe_options(AgentCard(), {"x": 1}) == ""


@pytest.mark.demand("openbb.agents_described_by_authors")
@each_case(
    ("fields", "problem"),
    [
        ({"id": "a b"}, "id: use letters"),
        ({"id": "-a"}, "begin with a letter"),
        ({"id": "a" * 65}, "at most 64"),
        ({"features": {"file_upload": True}}, "features.file_upload: Workspace has no feature of this name. Did you"),
        ({"features": {"zzz": True}}, "write a table with a label"),
        ({"features": {"streaming": CustomFeature(label="S")}}, "which is true or false. Give your option another"),
        ({"features": {"plugins": CustomFeature(label="P")}}, "the server's own option"),
        ({"features": {"a b": CustomFeature(label="P")}}, "for the name of an option"),
        ({"features": {"a": CustomFeature(label=" ")}}, "give it a label"),
        ({"features": {"a": CustomFeature(label="A", default="x")}}, "the default of a toggle is true or false"),
        ({"features": {"a": CustomFeature(label="A", type="text", default=True)}}, "the default of a text is a text"),
        ({"features": {"a": CustomFeature(label="A", type="select")}}, "a select needs options"),
        (
            {"features": {"a": CustomFeature(label="A", type="select", default="x", options=SIZES)}},
            "the default is none of its options: s, l.",
        ),
        ({"features": {"a": CustomFeature(label="A", options=SIZES)}}, "only a select has options"),
        ({"endpoints": CardEndpoints(query="analyst")}, "endpoints.query: write a path such as"),
        ({"endpoints": CardEndpoints(query="/a/{b}")}, "endpoints.query"),
        ({"endpoints": CardEndpoints(feedback="ftp://x")}, "endpoints.feedback"),
    ],
)
def test_a_wrong_name_is_refused_with_what_to_write(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=": ") as caught:
        AgentCard(**fields)
    assert problem in caught.value.message
