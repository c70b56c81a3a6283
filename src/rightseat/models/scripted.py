"""`scripted:FILE.json`: a model that replays a script file, for tests and demos.

    {"turns": [
      {"when": {"tool": "add"},  "say": "That makes {result}."},
      {"when": {"user": "sum"},  "calls": [{"name": "add", "arguments": {"a": 2, "b": 3}}]},
      {"when": {},               "say": ["You ", "said ", "{user}"], "pace_ms": 20}
    ]}

The first turn whose `when` matches answers; when none does, the model echoes. `user` is a regular expression
on the last user message and matches only while no tool has answered since, so that a turn that calls a tool
does not call it again; `tool` is the tool whose result came last; `offered` is a tool that the request must
offer; all that are given must match, and `{}` matches always.

`say` is text or a list of tokens; `reason` is reasoning before it, `refuse` a refusal in its place; `calls`
come last, their `arguments` an object, or text that may be invalid on purpose. `finish` is stop, length,
calls, content_filter, `cut` (no finish reason) or `raise:CODE` (fails with that error). {user} and {result}
stand for the last user text and the last tool result, also inside arguments. `usage` is {"input", "output"}.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from rightseat.errors import ConfigError, Incomplete, errors_by_code
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage
from rightseat.types.model import Model, ModelInfo, Prompt
from rightseat.types.text import did_you_mean

DEMO = Path(__file__).with_name("demo.json")
ECHO = "This is a scripted model, and its script has no line for that. You said: {user}"

_FINISHES = ("stop", "length", "calls", "content_filter", "cut")
_TOKEN = re.compile(r"\s*\S+|\s+")
# Splits arguments into pieces about as long as a model's tokens.
_ARGUMENT = re.compile(r".{1,8}", re.DOTALL)


class TurnCondition(Struct, frozen=True):
    user: str | None = None
    tool: str | None = None
    offered: str | None = None


class ScriptedCall(Struct, frozen=True):
    name: str
    arguments: dict[str, Any] | str = {}
    enforced: bool = False


class ScriptedTurn(Struct, frozen=True, kw_only=True):
    when: TurnCondition = TurnCondition()
    say: str | list[str] = ""
    reason: str = ""
    refuse: str = ""
    calls: list[ScriptedCall] = []
    finish: str | None = None
    pace_ms: float = 0
    usage: Usage | None = None


class ModelScript(Struct, frozen=True):
    turns: list[ScriptedTurn]


class ScriptFileModel(Model):
    """Replays a ModelScript. Holds no state: the conversation alone decides which turn answers."""

    def __init__(self, script: ModelScript) -> None:
        self.name = "scripted"
        self._turns = [(turn, re.compile(turn.when.user or "")) for turn in script.turns]

    @property
    def info(self) -> ModelInfo:
        return ModelInfo("scripted", self.name)

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        user, tool, result = _find_last_inputs(prompt)
        turn = self._find_turn(user, tool, {spec.name for spec in prompt.tools})
        for chunk in _generate_chunks(turn, {"{user}": user, "{result}": result}):
            # Sleep even for 0 s: a long script must yield to other tasks and stay cancellable.
            await asyncio.sleep(turn.pace_ms / 1000)
            yield chunk
        if turn.usage is not None:
            yield UsageChunk(turn.usage)
        finish = turn.finish or ("calls" if turn.calls else "stop")
        if finish == "cut":
            raise Incomplete("The model's answer ended before it was finished: try again.")
        if finish.startswith("raise:"):
            raise errors_by_code()[finish.removeprefix("raise:")]("The script says that the model fails here.")
        yield FinishChunk(cast(Literal["stop", "length", "calls", "content_filter"], finish))

    def _find_turn(self, user: str, tool: str | None, offered: set[str]) -> ScriptedTurn:
        for turn, pattern in self._turns:
            when = turn.when
            if when.tool not in (None, tool) or (when.offered is not None and when.offered not in offered):
                continue
            answered = tool is not None and when.tool is None
            if when.user is not None and (answered or not pattern.search(user)):
                continue
            return turn
        return ScriptedTurn(say=ECHO)


def model(name: str, options: Mapping[str, Any]) -> ScriptFileModel:
    """Load a script: `name` is its path, or `demo`. `pace_ms` applies to turns that set no pace."""
    _check_keys(options, ("pace_ms",), f"The model scripted:{name}")
    path = DEMO if name == "demo" else Path(name)
    try:
        script = load_script(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"The script {path} cannot be read: {error.strerror}.") from error
    pace = options.get("pace_ms", 0)
    if not isinstance(pace, int | float) or not 0 <= pace < 60_000:
        raise ConfigError("pace_ms is a number of milliseconds from 0 up to a minute.", param="pace_ms")
    turns = [msgspec.structs.replace(turn, pace_ms=turn.pace_ms or pace) for turn in script.turns]
    return ScriptFileModel(ModelScript(turns))


def load_script(text: bytes | str, source_name: str) -> ModelScript:
    """Parse and check a script; `source_name` names it in errors."""
    try:
        raw = msgspec.json.decode(text)
        _check_keys(raw, ModelScript.__struct_fields__, source_name)
        script = msgspec.convert(raw, ModelScript)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{source_name} is not a script: {error}") from error
    for number, (turn, raw_turn) in enumerate(zip(script.turns, raw["turns"], strict=True)):
        location = f"{source_name}: turns[{number}]"
        _check_keys(raw_turn, ScriptedTurn.__struct_fields__, location)
        _check_keys(raw_turn.get("when"), TurnCondition.__struct_fields__, f"{location}.when")
        _check_keys(raw_turn.get("usage"), Usage.__struct_fields__, f"{location}.usage")
        for call in raw_turn.get("calls", ()):
            _check_keys(call, ScriptedCall.__struct_fields__, f"{location}.calls")
        _check_turn(turn, location)
    return script


def _check_turn(turn: ScriptedTurn, location: str) -> None:
    try:
        re.compile(turn.when.user or "")
    except re.error as error:
        raise ConfigError(f"{location}.when.user is not a regular expression: {error}") from error
    if turn.finish is not None:
        _check_keys((turn.finish,), (*_FINISHES, *(f"raise:{code}" for code in errors_by_code())), f"{location}.finish")
    if not 0 <= turn.pace_ms < 60_000:
        raise ConfigError(f"{location}.pace_ms is not between 0 and a minute.")


def _check_keys(keys: object, allowed: Iterable[str], location: str) -> None:
    """Raise ConfigError for a key that is not in `allowed`, with the nearest allowed one as a hint."""
    allowed = tuple(allowed)
    for key in keys if isinstance(keys, Mapping | tuple) else ():
        if key not in allowed:
            raise ConfigError(f"{location} does not know {key!r}. {did_you_mean(key, allowed)}", param=key)


def _find_last_inputs(prompt: Prompt) -> tuple[str, str | None, str]:
    """Return the last user text, and the name and result of the tool that answered after it, if any."""
    messages = [message for message in prompt.messages if message.role in ("user", "assistant", "tool")]
    user = next((message.text for message in reversed(messages) if message.role == "user"), "")
    if not messages or messages[-1].role != "tool":
        return user, None, ""
    last = messages[-1]
    names = {call.id: call.name for message in messages for call in message.calls}
    return user, last.name or names.get(last.call_id or "", ""), last.text


def _generate_chunks(turn: ScriptedTurn, placeholders: Mapping[str, str]) -> Iterator[ModelChunk]:
    for token in _TOKEN.findall(_fill_placeholders(turn.reason, placeholders)):
        yield ReasoningChunk(token)
    say = turn.say
    for token in _TOKEN.findall(_fill_placeholders(say, placeholders)) if isinstance(say, str) else say:
        yield TextChunk(_fill_placeholders(token, placeholders) if isinstance(say, list) else token)
    for token in _TOKEN.findall(_fill_placeholders(turn.refuse, placeholders)):
        yield RefusalChunk(token)
    for number, call in enumerate(turn.calls):
        yield ToolCallStart(number, call.name, call.enforced)
        for piece in _ARGUMENT.findall(_format_arguments(call, placeholders)):
            yield ToolCallArgs(number, piece)


def _format_arguments(call: ScriptedCall, placeholders: Mapping[str, str]) -> str:
    if isinstance(call.arguments, str):
        return _fill_placeholders(call.arguments, placeholders)
    # Escape the values: a quote in user text must not end a JSON string.
    escaped = {mark: msgspec.json.encode(text).decode()[1:-1] for mark, text in placeholders.items()}
    return _fill_placeholders(msgspec.json.encode(call.arguments).decode(), escaped)


def _fill_placeholders(text: str, placeholders: Mapping[str, str]) -> str:
    return re.sub(r"\{user\}|\{result\}", lambda mark: placeholders[mark.group()], text)
