"""Known and unknown fields of requests: grammars, schemas, continued messages, contradictions, declared settings."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat import Assistant, Runtime
from rightseat.doors.openai import fields
from rightseat.doors.openai.wire import ChatRequest, CompletionRequest, EmbeddingRequest
from rightseat.errors import CallerError, UpstreamRefused
from rightseat.middleware.model_wrappers import FallbackMember, FallbackModel
from rightseat.models.llamacpp.client import CompletionChunk, LlamaServer
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.model import LlamaCppModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.template import TemplateSources, load_chatml
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Capabilities, Prompt
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.unit.doors.openai.test_openai import HI, SCHEMA, post_chat, post_once
from tests.unit.models.llamacpp.in_process_server import InProcessServer

pytestmark = pytest.mark.io

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
COMPLETIONS = "/v1/completions"
BEGUN = [*HI, {"role": "assistant", "content": "Well, <|im_end|>"}]
GRAMMAR = 'root ::= "yes" | "no"'


class RefusingServer(InProcessServer):
    """An engine that does not take a grammar, as its parser says."""

    async def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
        if "invalid" in request.get("grammar", ""):
            raise CallerError("The model's server does not take this grammar: check it.", param="grammar")
        self.requests.append(request)
        for chunk in self.answer:
            yield chunk


def make_local_model(*texts: str, tool_format: str = "hermes") -> tuple[LlamaCppModel, InProcessServer]:
    async def describe_model(_server: LlamaServer) -> ModelDescription:
        return ModelDescription(TemplateSources(load_chatml()), ControlTokens(("<|im_end|>",)))

    chunks = [CompletionChunk(content=text) for text in texts or ("yes",)]
    server = RefusingServer(*chunks, CompletionChunk(stop=True, stop_type="eos"))
    return LlamaCppModel("local", server, describe_model, options=PromptOptions(tool_format=tool_format)), server


def make_model(**capabilities: Any) -> FakeModel:
    model = FakeModel(*(reply_text('{"a": 1}') for _ in range(3)))
    model.capabilities = Capabilities(**capabilities)
    return model


@pytest.mark.demand("openai.chat_grammar_and_schema")
@pytest.mark.parametrize("tool_format", ["hermes", "generic"])
async def test_a_grammar_holds_an_answer_of_a_local_model(tool_format: str) -> None:
    model, server = make_local_model(tool_format=tool_format)
    runtime = Runtime(assistants=[Assistant("default", model, tools=())])
    status, body = await post_chat(runtime, grammar=GRAMMAR)
    assert (status, body["choices"][0]["message"]["content"]) == (200, "yes")
    assert server.requests[0]["grammar"] == GRAMMAR


@pytest.mark.demand("openai.chat_grammar_and_schema")
@pytest.mark.parametrize("grammar", ["root ::= invalid", "(" * 300, "%llguidance {}" + "x" * (1 << 19)])
async def test_an_invalid_grammar_is_named(grammar: str) -> None:
    status, body = await post_chat(Runtime(model=make_local_model()[0]), grammar=grammar)
    assert (status, body["error"]["param"]) == (400, "grammar")


@pytest.mark.demand("openai.chat_grammar_and_schema")
@pytest.mark.parametrize(
    "form",
    [
        {"json_schema": SCHEMA},
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"response_format": {"type": "json_object"}, "json_schema": SCHEMA},
    ],
)
async def test_llama_servers_schemas_are_output_schemas(form: dict[str, Any]) -> None:
    model = make_model()
    status, body = await post_chat(Runtime(model=model), **form)
    assert (status, body["choices"][0]["message"]["content"]) == (200, '{"a": 1}')
    assert model.prompts[0].output_schema == SCHEMA
    local, server = make_local_model('{"a": 1}')
    assert (await post_chat(Runtime(model=local), **form))[0] == 200
    assert "root ::=" in server.requests[0]["grammar"]
    unfit = FakeModel(reply_text("no"), reply_text("no"))
    assert (await post_chat(Runtime(model=unfit), **form))[0] == 502


async def test_a_schema_of_a_completion() -> None:
    local, server = make_local_model('{"a": 1}')
    status, _ = await post_once(Runtime(model=local), {"prompt": "x", "json_schema": SCHEMA}, COMPLETIONS)
    assert status == 200
    assert "root ::=" in server.requests[0]["grammar"]
    model = make_model()
    status, _ = await post_once(Runtime(model=model), {"prompt": "x", "json_schema": SCHEMA}, COMPLETIONS)
    assert (status, model.prompts[0].output_schema) == (200, SCHEMA)


@pytest.mark.demand("openai.contradictions_refused")
@pytest.mark.parametrize(
    ("request_fields", "param"),
    [
        ({"grammar": GRAMMAR, "tools": [TOOL]}, "grammar"),
        ({"grammar": GRAMMAR, "response_format": {"type": "json_object"}}, "grammar"),
        ({"grammar": GRAMMAR, "json_schema": SCHEMA}, "grammar"),
        (
            {"json_schema": SCHEMA, "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
            "json_schema",
        ),
        ({"json_schema": {"type": "nonsense"}}, "json_schema"),
        ({"response_format": {"type": "json_object", "schema": {"type": 7}}}, "response_format.schema"),
        ({"messages": BEGUN, "continue_final_message": True, "add_generation_prompt": True}, "add_generation_prompt"),
        ({"continue_final_message": True}, "continue_final_message"),
        ({"messages": [], "continue_final_message": True}, "continue_final_message"),
        ({"add_generation_prompt": False}, "add_generation_prompt"),
        ({"messages": BEGUN, "continue_final_message": "reasoning_content"}, "continue_final_message"),
        ({"messages": BEGUN, "continue_final_message": True, "json_schema": SCHEMA}, "continue_final_message"),
        ({"messages": [*BEGUN, {"role": "assistant", "content": "and"}]}, "messages"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"n_predict": 0}, "n_predict"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
async def test_contradictions_are_refused_in_words(request_fields: dict[str, Any], param: str) -> None:
    model, server = make_local_model()
    status, body = await post_chat(Runtime(model=model), **request_fields)
    assert (status, body["error"]["param"], server.requests) == (400, param, [])
    assert body["error"]["message"].startswith(f"{param}: ")


@pytest.mark.demand("openai.final_message_continued")
@pytest.mark.parametrize("flags", [{}, {"continue_final_message": True}, {"add_generation_prompt": False}])
@pytest.mark.parametrize("tool_format", ["hermes", "generic"])
async def test_a_local_model_continues_a_final_assistant_message(flags: dict[str, Any], tool_format: str) -> None:
    model, server = make_local_model("yes", tool_format=tool_format)
    status, body = await post_chat(Runtime(model=model), messages=BEGUN, tools=[TOOL], **flags)
    assert (status, body["choices"][0]["message"]["content"]) == (200, "yes")
    prompt = server.requests[0]["prompt"]
    text = prompt if isinstance(prompt, str) else "".join(map(chr, prompt))
    # The end token in the message is text of the client's.
    assert text.rpartition("<|im_start|>assistant\n")[2] == "Well, <|im_end|>"
    assert isinstance(prompt, list)


@pytest.mark.demand("openai.final_message_continued")
async def test_another_model_begins_a_new_message_unless_it_is_told_not_to() -> None:
    model = make_model()
    assert (await post_chat(Runtime(model=model), messages=BEGUN))[0] == 200
    assert model.prompts[0].settings.extra == {}
    status, body = await post_chat(Runtime(model=make_model()), messages=BEGUN, continue_final_message=True)
    assert (status, body["error"]["param"]) == (400, "continue_final_message")
    assert "user message" in body["error"]["message"]


@pytest.mark.demand("openai.settings_refused_by_declaration")
async def test_the_model_declares_what_it_takes() -> None:
    status, body = await post_chat(Runtime(model=make_model(settings=frozenset({"top_k"}))), seed=7, stream=True)
    assert (status, body["error"]["param"]) == (400, "seed")
    assert "does not take it" in body["error"]["message"]
    ignoring = make_model(settings=frozenset({"top_k"}), ignored_settings=("seed",))
    assert (await post_chat(Runtime(model=ignoring), seed=7, top_k=9, temperature=1, user="me"))[0] == 200
    settings = ignoring.prompts[0].settings
    assert (settings.seed, settings.temperature, settings.extra) == (None, None, {"top_k": 9})


@pytest.mark.demand("openai.settings_refused_by_declaration")
async def test_an_empty_object_that_asks_for_a_web_search_is_refused_or_passed_on() -> None:
    status, body = await post_chat(Runtime(model=make_model(settings=frozenset())), web_search_options={})
    assert (status, body["error"]["param"]) == (400, "web_search_options")
    searching = make_model(settings=frozenset({"web_search_options"}))
    assert (await post_chat(Runtime(model=searching), web_search_options={}))[0] == 200
    assert searching.prompts[0].settings.extra == {"web_search_options": {}}


@pytest.mark.demand("openai.settings_refused_by_declaration")
async def test_a_fallback_that_does_not_take_the_settings_is_passed_over() -> None:
    async def fail(_prompt: Prompt) -> AsyncIterator[ModelChunk]:
        raise UpstreamRefused("down")
        yield

    class DownModel(FakeModel):
        def __init__(self) -> None:
            super().__init__(fail, fail)

    unable, able = make_model(settings=frozenset()), make_model()
    members = [
        FallbackMember(name, model, model.info)
        for name, model in (("down", DownModel()), ("unable", unable), ("able", able))
    ]
    runtime = Runtime(model=FallbackModel(members))
    assert (await post_chat(runtime, seed=7, user="me"))[0] == 200
    assert (unable.prompts, able.prompts[0].settings.seed) == ([], 7)
    members[0] = replace(members[0], model=DownModel())
    assert (await post_chat(Runtime(model=FallbackModel(members)), user="me"))[0] == 200
    assert unable.prompts[0].settings.extra == {}


@pytest.mark.parametrize(("stop", "words"), [("", ()), ([""], ()), (["a", ""], ("a",)), (None, ())])
async def test_an_empty_stop_word_is_left_out(stop: Any, words: tuple[str, ...]) -> None:
    model = make_model(settings=frozenset({"stop"} if words else ()))
    assert (await post_chat(Runtime(model=model), stop=stop))[0] == 200
    assert model.prompts[0].settings.stop == words


async def test_forms_of_llama_servers_fields() -> None:
    model, server = make_local_model()
    bias = [[50, -1], [51, False]]
    await post_chat(Runtime(model=model), n_predict=9, max_tokens=3, n_probs=2, typ_p=0.5, logit_bias=bias, seed=-1)
    body = server.requests[0]
    assert (body["n_predict"], body["n_probs"], body["typical_p"], body["seed"]) == (9, 2, 0.5, -1)
    assert body["logit_bias"] == [[50, -1], [51, -100]]
    unlimited = make_model()
    await post_chat(Runtime(model=unlimited), max_tokens=-1)
    assert unlimited.prompts[0].settings.max_tokens is None
    several = make_model()
    assert len((await post_chat(Runtime(model=several), n_cmpl=2))[1]["choices"]) == 2


@pytest.mark.demand("openai.known_fields_completions_embeddings")
@pytest.mark.parametrize("field", fields.COMPLETION_FIELDS.values(), ids=lambda field: field.name)
async def test_each_field_of_a_completion(field: fields.KnownField) -> None:
    if field.handling != "refused":
        assert field.handling == "left_out" or field.name in CompletionRequest.__struct_fields__
        return
    for value, status in ((7, 400), (None, 200), *((value, 200) for value in field.neutral)):
        answer, body = await post_once(Runtime(model=make_model()), {"prompt": "x", field.name: value}, COMPLETIONS)
        assert answer == status, (value, body)
        if status == 400:
            assert body["error"]["param"] == field.name


@pytest.mark.demand("openai.known_fields_completions_embeddings")
async def test_several_completions_of_one_prompt() -> None:
    model = FakeModel(*(reply_text(str(number)) for number in range(4)))
    status, body = await post_once(Runtime(model=model), {"prompt": ["a", "b"], "n": 2}, COMPLETIONS)
    assert (status, [choice["text"] for choice in body["choices"]]) == (200, ["0", "1", "2", "3"])
    assert [prompt.messages[0].text for prompt in model.prompts] == ["a", "a", "b", "b"]
    for request in ({"prompt": ["a"] * 3, "n": 3}, {"prompt": "a", "n": 2, "model": "default"}):
        runtime = Runtime(assistants=[Assistant("default", make_model(), system="Be kind.")])
        status, body = await post_once(runtime, request, COMPLETIONS)
        assert (status, body["error"]["param"]) == (400, "n")


@asynccontextmanager
async def fresh_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    monkeypatch.setattr(fields, "FIELD_LOG", fields.FieldLog())
    with caplog.at_level(logging.INFO, fields.__name__):
        yield


@pytest.mark.demand("openai.unknown_fields_logged_once")
async def test_an_unknown_field_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with fresh_log(monkeypatch, caplog):
        for _ in range(2):
            model = make_model()
            body = {"made_up": 1, "line\nbreak" * 40: 2, "verbose": True}
            assert (await post_chat(Runtime(model=model), **body))[0] == 200
            assert model.prompts[0].settings.extra == {}
        lines = [record.getMessage() for record in caplog.records if record.name == fields.__name__]
        assert len(lines) == 3
        assert lines[0] == "the field 'made_up' of a request is ignored: it is unknown"
        assert "\n" not in lines[1]
        assert len(lines[1]) < 150
        caplog.clear()
        many = {f"x{number}": 1 for number in range(fields.MAX_LOGGED_NAMES + 50)}
        await post_chat(Runtime(model=make_model()), **many)
        lines = [record.getMessage() for record in caplog.records if record.name == fields.__name__]
        assert len(lines) == fields.MAX_LOGGED_NAMES - 2
        assert "not named any more" in lines[-1]


def test_the_table_and_the_shapes_have_the_same_fields() -> None:
    tables = (
        (fields.CHAT_FIELDS, ChatRequest),
        (fields.COMPLETION_FIELDS, CompletionRequest),
        (fields.EMBEDDING_FIELDS, EmbeddingRequest),
    )
    for table, shape in tables:
        used = {name for name, field in table.items() if field.handling in ("read", "setting")}
        assert used - set(shape.__struct_fields__) <= {"function_call"}
        assert set(shape.__struct_fields__) <= used


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 600 + "]" * 600])
async def test_a_refused_field_may_have_any_value(value: str) -> None:
    body = b'{"messages": [{"role": "user", "content": "hi"}], "audio": %b}' % value.encode()
    async with serve_runtime(Runtime(model=FakeModel())) as server, RawHttpClient(server.url) as client:
        await client.send(build_raw_request("POST", "/v1/chat/completions", body))
        assert (await client.read_head()).status == 400
        assert "error" in await client.read_json()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("repeat_last_n", 1 << 28),
        ("dry_penalty_last_n", 1 << 28),
        ("dry_sequence_breakers", ["x" * 100]),
        ("min_keep", -1),
        ("top_k", 10**30),
        ("samplers", ["rm"]),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", COMPLETIONS])
async def test_a_parameter_out_of_its_range_does_not_reach_the_engine(path: str, name: str, value: Any) -> None:
    model, server = make_local_model()
    begun = {"prompt": "hi"} if path == COMPLETIONS else {"messages": HI}
    status, body = await post_once(Runtime(model=model), {**begun, name: value}, path)
    assert status == 400
    assert body["error"]["message"].startswith(name)
    assert server.requests == []


@pytest.mark.parametrize("stop", ["x" * 1001, ["x"] * 65, ["x" * 1001]])
@pytest.mark.parametrize("path", ["/v1/chat/completions", COMPLETIONS])
async def test_stop_words_are_few_and_short(path: str, stop: Any) -> None:
    begun = {"prompt": "hi"} if path == COMPLETIONS else {"messages": HI}
    status, body = await post_once(Runtime(model=FakeModel()), {**begun, "stop": stop}, path)
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")
