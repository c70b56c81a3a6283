"""FireFunction v2: its template wants the tools as text and the date, and writes calls after a word."""

import json

import pytest

from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.model import LlamaCppModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.template import TemplateSources
from rightseat.types.chunks import FinishChunk
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.contract.formats.cases import FIND_CALL, RING_CALL, TOOLS
from tests.contract.formats.checking import USER
from tests.contract.models.cases import collect_answer
from tests.unit.models.llamacpp.in_process_server import InProcessServer

# In the manner of the real one: it fails where one of its two variables is missing.
TEMPLATE = """\
{{- '[system]You may write functools[...] to call:\\n' + functions + '\\nIt is ' + datetime + '.' -}}
{%- for message in messages -%}
{{- '[' + message.role + ']' + (message.content or '') -}}
{%- if message.tool_calls -%}
{%- set calls = [] -%}
{%- for call in message.tool_calls -%}
{%- set text = '{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson + '}' -%}
{{- ' functools[' + text + ']' -}}
{%- endfor -%}
{%- endif -%}
{%- endfor -%}
{{- '[assistant]' -}}
"""


@pytest.mark.io
@pytest.mark.demand("llamacpp.firefunction_v2")
async def test_it_starts_and_calls() -> None:
    async def describe_model(_server: object) -> ModelDescription:
        return ModelDescription(TemplateSources(TEMPLATE), ControlTokens(()))

    calls = ", ".join(f'{{"name": "{name}", "arguments": {arguments}}}' for name, arguments in (FIND_CALL, RING_CALL))
    answer = CompletionChunk(content=f"I look. functools[{calls}]")
    server = InProcessServer(answer, CompletionChunk(stop=True, stop_type="eos"))
    model = LlamaCppModel("fire", server, describe_model, options=PromptOptions())
    async with closing(model.stream(Prompt(messages=(USER,), tools=TOOLS))) as stream:
        chunks = [chunk async for chunk in stream]
    found = collect_answer(chunks)
    assert (found.text, found.calls) == ("I look.", (FIND_CALL, RING_CALL))
    assert chunks[-1] == FinishChunk("calls")
    prompt = server.requests[0]["prompt"]
    listed, _, rest = prompt.partition("to call:\n")[2].partition("\nIt is ")
    assert [tool["function"]["name"] for tool in json.loads(listed)] == ["find_word", "ring"]
    assert rest.endswith("[assistant]")
    assert "functools[" in server.requests[0]["grammar"]
