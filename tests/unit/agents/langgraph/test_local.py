"""A graph of this process whose state pydantic refuses to describe."""

from types import SimpleNamespace
from typing import Any, Never, TypedDict

import pytest

from rightseat.agents.langgraph.local import LocalGraph
from rightseat.types.turn import Turn


class Question(TypedDict):
    topic: str


class State(Question):
    messages: list[Any]


def refuse_typed_dict() -> Never:
    """What pydantic does with `typing.TypedDict` before Python 3.12."""
    raise RuntimeError("Please use `typing_extensions.TypedDict` instead of `typing.TypedDict` on Python < 3.12.")


class RefusingGraph:
    """Has the parts of a compiled StateGraph that describe it."""

    get_input_jsonschema = get_output_jsonschema = staticmethod(refuse_typed_dict)

    def __init__(self, **builder: Any) -> None:
        self.builder = SimpleNamespace(**builder)

    def get_config_jsonschema(self) -> dict[str, Any]:
        return {"properties": {"configurable": {}}}


@pytest.mark.parametrize("suffix", ["_schema", ""])
async def test_a_state_of_plain_typed_dicts_has_its_keys(suffix: str) -> None:
    graph = RefusingGraph(**{f"input{suffix}": Question, f"output{suffix}": State})
    schema = await LocalGraph("desk", graph, stream_subgraphs=False).fetch_schema(Turn(messages=()))
    assert (schema.inputs, schema.outputs) == (frozenset({"topic"}), frozenset({"topic", "messages"}))


async def test_a_state_without_any_description_has_all_keys() -> None:
    schema = await LocalGraph("desk", RefusingGraph(), stream_subgraphs=False).fetch_schema(Turn(messages=()))
    assert (schema.inputs, schema.outputs) == (None, None)
