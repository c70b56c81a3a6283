"""Decode OpenAI requests (chat, completion, embedding) into turns."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from rightseat.doors.openai.wire import (
    PASSED,
    AnyJson,
    ChatMessage,
    ChatRequest,
    CompletionRequest,
    ContentPart,
    EmbeddingRequest,
    FilePart,
    FittingJson,
    Function,
    ImagePart,
    NamedChoice,
    RefusalPart,
    TextPart,
)
from rightseat.errors import CallerError
from rightseat.http.endpoint import Host, Request, client_spec, decode, header_id, pinned
from rightseat.types.messages import Call, File, Image, Message, Part, Role, Text, said
from rightseat.types.model import Raw, Settings, ToolChoice, ToolSpec
from rightseat.types.schema import checker
from rightseat.types.turn import Turn

MOST_PROMPTS = 8


class Asked(Struct, frozen=True):
    """A decoded request: one turn for each choice, and the options of the response."""

    turns: tuple[Turn, ...]
    model: str
    stream: bool
    usage: bool
    legacy: bool = False


def read(request: Request, host: Host) -> Asked:
    asked = decode(request.body, ChatRequest)
    if asked.functions:
        raise CallerError("functions: the API of 2023 is not spoken here. Send `tools`.", param="functions")
    tools = tuple(spec(tool.function, number) for number, tool in enumerate(asked.tools or ()))
    schema, passed = output(asked)
    turn = Turn(
        messages=tuple(message(m, number) for number, m in enumerate(asked.messages)),
        assistant=host.resolve(asked.model),
        model=host.picked(asked.model),
        tools=tools,
        tool_choice=choice(asked.tool_choice, tools),
        plugins=tuple(asked.plugins or ()) or pinned(request),
        output_schema=schema,
        settings=replace(settings(asked), extra=extra(asked) | passed),
        owner=request.owner,
        headers=request.passed,
        run=request.id,
        shows_interrupts=False,
        shows_artifacts=False,
        base=request.base,
        conversation=header_id(request, "x-thread-id"),
        session=asked.session_id or asked.prompt_cache_key or None,
        parent=asked.parent_session_id,
    )
    turns = several(turn, asked.n or 1, host)
    return Asked(turns, asked.model or "default", bool(asked.stream), counts(asked))


def spec(tool: Function, number: int) -> ToolSpec:
    checked = client_spec(tool.name, tool.description, tool.parameters, f"tools[{number}].function")
    return replace(checked, strict=bool(tool.strict))


def several(turn: Turn, number: int, host: Host) -> tuple[Turn, ...]:
    """Return the turn once for each choice. Only a bare model takes several: assistants have side effects."""
    if number > 1 and not host.bare(turn.assistant):
        raise CallerError("n: an assistant gives one answer. Ask a model for several.", param="n")
    return (turn, *(replace(turn, run=f"{turn.run}-{index}") for index in range(1, number)))


def read_completion(request: Request, host: Host) -> Asked:
    asked = decode(request.body, CompletionRequest)
    name = host.resolve(asked.model)
    as_it_is = host.completes(name)
    check(asked, as_it_is)
    # The legacy `logprobs` number is two fields in a chat request.
    told = {} if asked.logprobs is None else {"logprobs": True, "top_logprobs": asked.logprobs}
    passed = {key: value for key, value in extra(asked).items() if key != "logprobs"} | told
    turns = tuple(
        Turn(
            messages=(said("user", prompt if isinstance(prompt, str) else ""),),
            raw=raw(asked, prompt) if as_it_is else None,
            assistant=name,
            model=host.picked(asked.model),
            settings=replace(settings(asked), extra=passed),
            owner=request.owner,
            headers=request.trace,
            run=request.id if number == 0 else f"{request.id}-{number}",
            shows_interrupts=False,
            shows_artifacts=False,
            base=request.base,
        )
        for number, prompt in enumerate(prompts(asked.prompt))
    )
    return Asked(turns, asked.model or "default", bool(asked.stream), counts(asked), legacy=True)


def prompts(given: str | list[str | int | list[int]]) -> list[str | list[int]]:
    """Split `prompt` into texts and token lists; a flat list of numbers is one token list."""
    if isinstance(given, str):
        return [given]
    numbers = [item for item in given if isinstance(item, int)]
    others = [item for item in given if not isinstance(item, int)]
    if numbers and others:
        raise CallerError("prompt: tokens and texts do not go together.", param="prompt")
    if len(others) > MOST_PROMPTS:
        raise CallerError(f"prompt: at most {MOST_PROMPTS} at once.", param="prompt")
    return others or [numbers]


def check(asked: CompletionRequest, as_it_is: bool) -> None:
    """Refuse options that need a model with raw completion (`supports_raw`)."""
    if asked.echo and asked.logprobs is not None:
        raise CallerError("echo: not together with logprobs.", param="echo")
    if as_it_is:
        return
    if asked.echo:
        raise CallerError("echo: the prompt is not given back here.", param="echo")
    if asked.grammar is not None:
        raise CallerError("grammar: this model takes none. Ask a local one.", param="grammar")
    if not all(isinstance(prompt, str) for prompt in prompts(asked.prompt)):
        raise CallerError("prompt: this model takes text, not tokens.", param="prompt")


def raw(asked: CompletionRequest, prompt: str | list[int]) -> Raw:
    text = prompt if isinstance(prompt, str) else tuple(prompt)
    if not text:
        raise CallerError("prompt: there is nothing to go on with.", param="prompt")
    return Raw(text, asked.grammar or "", asked.logprobs, bool(asked.echo))


def read_embedding(request: Request, host: Host) -> tuple[str | None, str, dict[str, Any]]:
    """Return the responder's name, the model name as requested, and the request body without `model`."""
    asked = decode(request.body, EmbeddingRequest)
    given = msgspec.to_builtins(asked)
    given.pop("model", None)
    return host.resolve(asked.model), asked.model or "default", given


def output(asked: ChatRequest) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the answer's JSON schema, and `response_format` as it is forwarded to an upstream."""
    match asked.response_format:
        case AnyJson():
            return {"type": "object"}, {"response_format": {"type": "json_object"}}
        case FittingJson(json_schema):
            try:
                checker(json_schema.schema)
            except CallerError as error:
                place = "response_format.json_schema.schema"
                raise CallerError(f"{place}: {error.message}", param=place) from None
            known = msgspec.to_builtins(json_schema)
            given = {name: value for name, value in known.items() if value is not None}
            return json_schema.schema, {"response_format": {"type": "json_schema", "json_schema": given}}
        case _:
            return None, {}


def message(m: ChatMessage, number: int) -> Message:
    role: Role = "tool" if m.role == "function" else m.role
    calls = tuple(Call(call.id, call.function.name, call.function.arguments) for call in m.tool_calls or ())
    call_id = m.tool_call_id
    # The 2023 API has one call per message and no ids: the function's name is used as id.
    if m.function_call is not None:
        calls = (Call(m.function_call.name, m.function_call.name, m.function_call.arguments),)
    if m.role == "function":
        call_id = m.name
    if role == "tool" and not call_id:
        raise CallerError("A tool message needs the tool_call_id it answers.", param=f"messages[{number}]")
    return Message(role, parts(m.content), calls, call_id=call_id, name=m.name if role != "tool" else None)


def parts(content: str | list[ContentPart] | None) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    return (Text(content),) if isinstance(content, str) else tuple(map(part, content))


def part(content: ContentPart) -> Part:
    match content:
        case TextPart(text):
            return Text(text)
        case RefusalPart(refusal):
            return Text(refusal)
        case ImagePart(image):
            return Image(image.url, image.detail)
        case FilePart(file):
            return File(name=file.filename, data=file.file_data, file_id=file.file_id)
        case _:
            assert_never(content)


def choice(given: str | NamedChoice | None, tools: tuple[ToolSpec, ...]) -> ToolChoice:
    match given:
        case NamedChoice():
            if given.function.name not in {tool.name for tool in tools}:
                problem = f"tool_choice names {given.function.name[:64]!r}, which is not among the tools."
                raise CallerError(problem, param="tool_choice")
            return ToolChoice("named", given.function.name)
        case "none":
            return ToolChoice("none")
        case "required":
            return ToolChoice("required")
        case _:
            return ToolChoice()


def settings(asked: ChatRequest | CompletionRequest) -> Settings:
    chat = asked if isinstance(asked, ChatRequest) else None
    return Settings(
        temperature=asked.temperature,
        top_p=asked.top_p,
        max_tokens=(chat and chat.max_completion_tokens) or asked.max_tokens,
        stop=(asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ()),
        seed=asked.seed,
        parallel_calls=chat.parallel_tool_calls if chat else None,
    )


def extra(asked: ChatRequest | CompletionRequest) -> dict[str, Any]:
    """Collect the allow-listed fields that are set and forwarded to an OpenAI-compatible upstream."""
    given = {name: getattr(asked, name, None) for name in PASSED if hasattr(asked, name)}
    return {name: value for name, value in given.items() if value is not UNSET}


def counts(asked: ChatRequest | CompletionRequest) -> bool:
    return bool(asked.stream_options and asked.stream_options.include_usage)
