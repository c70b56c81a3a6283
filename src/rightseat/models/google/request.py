"""Prompt → JSON body of `streamGenerateContent`; JSON Schema → the subset that Gemini accepts."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from typing import Any, assert_never

from msgspec import Struct
from msgspec.json import encode

from rightseat.errors import CallerError
from rightseat.models._vendor.request import SCHEMA_INSTRUCTION_BESIDE_TOOLS, parse_object, without_none
from rightseat.models._vendor.thinking import THINKING_FIELDS, ThinkingRequest
from rightseat.models.catalog import base_model_name
from rightseat.models.google.stream_parser import PartMark, read_marks
from rightseat.tools.text_calls.typescript import resolve_ref
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, MessagePart, TextMessagePart, ToolCall
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec

SchemaDict = dict[str, Any]

# Limits for schemas that explode when references are expanded.
_MAX_NODES = 5000
_MAX_DEPTH = 16
_KEPT_KEYS = ("type", "title", "description", "minItems", "maxItems", "minimum", "maximum")
_FORMATS = {"date-time", "date", "time", "int32", "int64", "float", "double"}

# Keywords written into the description, which the model reads.
_DESCRIBED_KEYS = (
    *("pattern", "format", "minLength", "maxLength", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
    *("uniqueItems", "minProperties", "maxProperties", "const", "default"),
)

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def narrow_schema(schema: SchemaDict) -> SchemaDict:
    """Return the narrowed schema of any value."""
    return _SchemaNarrower(schema).narrow(schema, ())


def narrow_parameters(schema: SchemaDict) -> SchemaDict:
    """Return the narrowed schema of call arguments, always of type object."""
    out = narrow_schema(schema)
    return out if out.get("type") == "object" else {**out, "type": "object"}


class _SchemaNarrower:
    def __init__(self, root: SchemaDict) -> None:
        self._root = root
        self._nodes = 0

    def narrow(self, schema: Any, references: tuple[str, ...]) -> SchemaDict:
        """Narrow one schema node. `references`: the $refs followed so far, to stop at recursion."""
        self._nodes += 1
        if not isinstance(schema, dict):
            return {}
        pointer = schema.get("$ref")
        if isinstance(pointer, str):
            return self._resolve_reference(schema, pointer, references)
        for part in schema.get("allOf") or ():
            schema = _merge_all_of(schema, self.narrow(part, references))
        out = {key: schema[key] for key in _KEPT_KEYS if key in schema}
        described = dict(schema)
        if schema.get("format") in _FORMATS:
            out["format"] = described.pop("format")
        _add_enum(described, out)
        self._narrow_children(schema, out, references)
        if limits := _describe_limits(described):
            out["description"] = f"{out['description']} ({limits})" if out.get("description") else limits
        return out

    def _resolve_reference(self, schema: SchemaDict, pointer: str, references: tuple[str, ...]) -> SchemaDict:
        target = resolve_ref(self._root, pointer)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        over = pointer in references or len(references) > _MAX_DEPTH or self._nodes > _MAX_NODES
        if over or not isinstance(target, dict):
            kind = target.get("type") if isinstance(target, dict) else None
            return self.narrow({**siblings, "type": kind} if isinstance(kind, str) else siblings, references)
        return self.narrow({**target, **siblings}, (*references, pointer))

    def _narrow_children(self, schema: SchemaDict, out: SchemaDict, references: tuple[str, ...]) -> None:
        if isinstance(properties := schema.get("properties"), dict):
            out["properties"] = {name: self.narrow(value, references) for name, value in properties.items()}
            if required := [name for name in schema.get("required") or () if name in properties]:
                out["required"] = required
        if isinstance(more := schema.get("additionalProperties"), bool | dict):
            out["additionalProperties"] = more if isinstance(more, bool) else self.narrow(more, references)
        items = schema.get("items")
        if isinstance(items, dict):
            out["items"] = self.narrow(items, references)
        # Older drafts write tuples as a list in `items`.
        if isinstance(tuple_ := schema.get("prefixItems", items), list):
            out["prefixItems"] = [self.narrow(item, references) for item in tuple_]
        if isinstance(choices := schema.get("anyOf") or schema.get("oneOf"), list):
            out["anyOf"] = [self.narrow(choice, references) for choice in choices]


def _merge_all_of(schema: SchemaDict, part: SchemaDict) -> SchemaDict:
    """Merge one `allOf` part into the schema, whose own keywords win."""
    out = {**part, **schema}
    if "properties" in part:
        out["properties"] = {**part["properties"], **schema.get("properties", {})}
    if "required" in part:
        out["required"] = list(dict.fromkeys([*schema.get("required", ()), *part["required"]]))
    return out


def _add_enum(schema: SchemaDict, out: SchemaDict) -> None:
    """Write `enum` or `const` to `out` if all its values can be listed; remove `const` from `schema`."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return
    kinds = [_TYPES.get(type(value)) for value in values]
    if "type" not in out and None not in kinds:
        distinct = [kind for kind in dict.fromkeys(kinds) if kind]
        out["type"] = distinct[0] if len(distinct) == 1 else distinct
    listed = [value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)]
    if listed and len(listed) >= len([kind for kind in kinds if kind != "null"]):
        out["enum"] = listed
        schema.pop("const", None)


def _describe_limits(schema: SchemaDict) -> str:
    return "; ".join(f"{key}: {encode(schema[key]).decode()}" for key in _DESCRIBED_KEYS if key in schema)


Json = dict[str, Any]

# Google's placeholder signature for calls of other models; Gemini 3 refuses unsigned calls.
SKIP_SIGNATURE = base64.b64encode(b"skip_thought_signature_validator").decode()
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,", re.ASCII)
_MODES = {"none": "NONE", "required": "ANY", "named": "ANY"}


# Settings of a request, and where they are in Google's.
SETTINGS = {
    "temperature": "generationConfig.temperature",
    "top_p": "generationConfig.topP",
    "top_k": "generationConfig.topK",
    "max_tokens": "generationConfig.maxOutputTokens",
    "stop": "generationConfig.stopSequences",
    "seed": "generationConfig.seed",
    "presence_penalty": "generationConfig.presencePenalty",
    "frequency_penalty": "generationConfig.frequencyPenalty",
}
# Of models that think.
THINKING_SETTINGS = dict.fromkeys(THINKING_FIELDS - {"chat_template_kwargs"}, "generationConfig.thinkingConfig")
_EXTRA_SETTINGS = {"topK": "top_k", "presencePenalty": "presence_penalty", "frequencyPenalty": "frequency_penalty"}


GOOGLE_LEVELS = ("minimal", "low", "medium", "high")
_LEVELS = {level: level for level in GOOGLE_LEVELS} | {"none": "minimal"}
# As Google's own OpenAI-compatible endpoint maps them.
_BUDGETS = {"low": 1024, "medium": 8192, "high": 24576}


class GoogleRequestOptions(Struct, frozen=True, kw_only=True):
    """Requirements of one model, and its thinking options."""

    include_thoughts: bool = False
    thinking_budget: int | None = None
    thinking_level: str | None = None
    supports_schema: bool = True
    """The model enforces an output schema."""
    thinks: bool = False
    """The model is known to think; others refuse a request about it."""
    lowest_budget: int = 0
    """Tokens that Gemini 2.5 Pro needs at least for its thoughts."""
    lowest_level: str = "minimal"
    """Level that Gemini 3 Pro needs at least."""
    is_gemini_3: bool = False
    """Gemini 3 and newer refuse calls without a signature, and take a schema together with tools."""


def is_gemini_3(name: str) -> bool:
    return re.match(r"gemini-(?![12](\D|$))", base_model_name(name)) is not None


def is_pro(name: str) -> bool:
    return re.search(r"-pro\b", base_model_name(name)) is not None


def build_contents(prompt: Prompt, options: GoogleRequestOptions) -> list[Json]:
    """Return the conversation as contents, without empty ones, which Google refuses."""
    out: list[Json] = []
    calls_by_id: dict[str, tuple[str, str | None]] = {}
    after_results = False
    for message in prompt.messages:
        match message.role:
            case "tool":
                responses, media = _format_tool_result(message, calls_by_id)
                if after_results and responses:
                    # All results of one turn go into one content.
                    out[-1]["parts"] += responses
                elif responses:
                    out.append({"role": "user", "parts": responses})
                after_results = bool(responses) and not media
                _append_content(out, "user", media)
                continue
            case "assistant":
                part_marks = read_marks(message)
                for number, call in enumerate(message.calls):
                    mark = _find_call_mark(part_marks, number, call)
                    calls_by_id[call.id] = (call.name, mark.id if mark else None)
                _append_content(out, "model", _format_assistant_parts(message, part_marks, options))
            case "user":
                parts = [part for part in message.parts if not isinstance(part, TextMessagePart) or part.text]
                _append_content(out, "user", [_format_part(part) for part in parts])
        after_results = False
    if not out or out[0]["role"] == "model":
        # The first content must be from the user: insert a placeholder.
        out.insert(0, {"role": "user", "parts": [{"text": "…"}]})
    return out


def build_body(prompt: Prompt, options: GoogleRequestOptions) -> Json:
    out: Json = {"contents": build_contents(prompt, options)}
    config = _build_sampling(prompt.settings)
    instructions = [message.text for message in prompt.messages if message.role in ("system", "developer")]
    # Older models refuse a schema together with tools: put it into the instructions and validate here.
    enforced = options.supports_schema and (options.is_gemini_3 or not prompt.callable_tools)
    if prompt.output_schema is not None and not enforced:
        instructions.append(SCHEMA_INSTRUCTION_BESIDE_TOOLS + encode(prompt.output_schema).decode())
    if system := "\n\n".join(text for text in instructions if text):
        out["systemInstruction"] = {"parts": [{"text": system}]}
    if prompt.tools:
        out["tools"] = [{"functionDeclarations": [_format_tool(tool) for tool in prompt.tools]}]
        if prompt.tool_choice.mode != "auto":
            out["toolConfig"] = {"functionCallingConfig": _format_tool_choice(prompt.tool_choice)}
    if prompt.output_schema is not None and enforced:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = narrow_schema(prompt.output_schema)
    if thinking := _build_thinking(prompt.settings, options):
        config["thinkingConfig"] = thinking
    return {**out, "generationConfig": config}


def _build_thinking(settings: SamplingSettings, options: GoogleRequestOptions) -> Json:
    """Return `thinkingConfig`: what the request says, where the model is known to think, else the options."""
    level, budget = options.thinking_level, options.thinking_budget
    request = ThinkingRequest.from_settings(settings) if options.thinks else ThinkingRequest()
    if options.is_gemini_3 and request.enabled is not None:
        # These models cannot stop thinking, and take levels instead of budgets.
        effort = (request.effort or "high") if request.enabled else "minimal"
        level = max(_LEVELS.get(effort, "high"), options.lowest_level, key=GOOGLE_LEVELS.index)
    elif request.budget is not None:
        budget = max(request.budget, options.lowest_budget) if request.budget >= 0 else -1
    elif request.enabled is False:
        budget = options.lowest_budget
    elif request.effort is not None:
        budget = _BUDGETS.get(request.effort, _BUDGETS["high"])
    thoughts = options.include_thoughts and request.enabled is not False
    return without_none(
        {"includeThoughts": thoughts or None, "thinkingBudget": budget, "thinkingLevel": level and level.upper()}
    )


def _build_sampling(settings: SamplingSettings) -> Json:
    extra = settings.extra
    return {
        **{key: extra[name] for key, name in _EXTRA_SETTINGS.items() if type(extra.get(name)) in (int, float)},
        **without_none(
            {
                "temperature": settings.temperature,
                "topP": settings.top_p,
                "maxOutputTokens": settings.max_tokens,
                "stopSequences": list(settings.stop) or None,
                "seed": settings.seed,
            }
        ),
    }


def _format_tool(tool: ToolSpec) -> Json:
    out = {"name": tool.name, "parametersJsonSchema": narrow_parameters(tool.parameters)}
    return {**out, "description": tool.description} if tool.description else out


def _format_tool_choice(choice: ToolChoice) -> Json:
    allowed = {"allowedFunctionNames": [choice.name]} if choice.mode == "named" else {}
    return {"mode": _MODES[choice.mode], **allowed}


def _append_content(out: list[Json], role: str, parts: list[Json]) -> None:
    if parts:
        out.append({"role": role, "parts": parts})


def _find_call_mark(part_marks: list[PartMark], number: int, call: ToolCall) -> PartMark | None:
    return next((mark for mark in part_marks if mark.call == number and mark.name == call.name), None)


def _format_assistant_parts(message: Message, part_marks: list[PartMark], options: GoogleRequestOptions) -> list[Json]:
    """Return thoughts, texts and calls of an assistant message, each with its original signature."""
    out: list[Json] = [
        {"text": mark.thought, "thought": True, "thoughtSignature": signed}
        for mark in part_marks
        if mark.thought is not None and (signed := mark.valid_signature)
    ]
    out += _format_texts(message.text, part_marks)
    out += _format_media(message)
    calls = [_format_call(call, _find_call_mark(part_marks, number, call)) for number, call in enumerate(message.calls)]
    if calls and options.is_gemini_3 and not any("thoughtSignature" in call for call in calls):
        calls[0]["thoughtSignature"] = SKIP_SIGNATURE
    return out + calls


def _format_texts(text: str, part_marks: list[PartMark]) -> list[Json]:
    out: list[Json] = []
    position = 0
    for mark in part_marks:
        start, end, signed = mark.start, mark.end, mark.valid_signature
        # The text has changed since: drop the mark.
        if start is None or end is None or signed is None or not position <= start <= end <= len(text):
            continue
        if start > position:
            out.append({"text": text[position:start]})
        out.append({"text": text[start:end], "thoughtSignature": signed})
        position = end
    if position < len(text):
        out.append({"text": text[position:]})
    return out


def _format_call(call: ToolCall, mark: PartMark | None) -> Json:
    function: Json = {"name": call.name, "args": parse_object(call.arguments) or {}}
    if mark and mark.id:
        function["id"] = mark.id
    out: Json = {"functionCall": function}
    if mark and (signed := mark.valid_signature):
        out["thoughtSignature"] = signed
    return out


def _format_tool_result(
    message: Message, calls_by_id: dict[str, tuple[str, str | None]]
) -> tuple[list[Json], list[Json]]:
    """Return the function response of a tool message, and its images and files as separate parts."""
    media = _format_media(message)
    name, id = calls_by_id.get(message.call_id or "", (message.name, None))
    if not name:
        # The tool is unknown, and Google refuses a response without its call: send text.
        return [], [{"text": message.text}, *media] if message.text else media
    value = parse_object(message.text)
    response: Json = {"name": name, "response": {"output": message.text} if value is None else value}
    if id:
        response["id"] = id
    return [{"functionResponse": response}], media


def _format_media(message: Message) -> list[Json]:
    """Return the images and files of a message."""
    return [_format_part(part) for part in message.parts if not isinstance(part, TextMessagePart)]


def _format_part(part: MessagePart) -> Json:
    match part:
        case TextMessagePart():
            return {"text": part.text}
        case ImageMessagePart():
            return _format_data(part.url, None, "image")
        case FileMessagePart():
            if part.file_id is not None:
                return _format_reference(part.file_id, part.media_type)
            return _format_data(part.data or "", part.media_type, "file")
        case _:
            assert_never(part)


def _format_data(location: str, media_type: str | None, noun: str) -> Json:
    if location.startswith(("https://", "gs://")):
        return _format_reference(location, media_type or mimetypes.guess_type(location.split("?")[0])[0])
    head = _DATA_URL.match(location)
    data = location[head.end() :] if head else location
    if head is None and (noun == "image" or not location):
        raise CallerError(f"The model takes an {noun} as a data: URL in base64, or by an https:// address.")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CallerError(f"The {noun} in a message is not base64.") from error
    media_type = (head[1] if head else None) or media_type or "application/octet-stream"
    return {"inlineData": {"mimeType": media_type, "data": data}}


def _format_reference(uri: str, media_type: str | None) -> Json:
    return {"fileData": {"fileUri": uri, **({"mimeType": media_type} if media_type else {})}}
