"""`scripted:FILE.json`: a model that replays a script file, for tests and demos.

    {"turns": [
      {"when": {"tool": "add"},  "say": "That makes {result}."},
      {"when": {"user": "sum"},  "calls": [{"name": "add", "arguments": {"a": 2, "b": 3}}]},
      {"when": {},               "say": ["You ", "said ", "{user}"], "pace_ms": 20}
    ]}

The first turn whose `when` matches answers; when none does, the model echoes. `user` is a regular expression
on the last user message and matches only while no tool has answered since, so that a turn that calls a tool
does not call it again; `tool` is the tool whose result came last; both need both; `{}` matches always.

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

from rightseat.errors import ConfigError, Incomplete, RightseatError
from rightseat.types.chunks import CallArgs, CallName, Finish, Fragment, Reasoning, Refusal, Text, Used
from rightseat.types.events import Usage
from rightseat.types.model import Prompt
from rightseat.types.nearest import meant

DEMO = Path(__file__).with_name("demo.json")
ECHO = "This is a scripted model, and its script has no line for that. You said: {user}"

_FINISHES = ("stop", "length", "calls", "content_filter", "cut")
_TOKEN = re.compile(r"\s*\S+|\s+")
# Splits arguments into pieces about as long as a model's tokens.
_ARGUMENT = re.compile(r".{1,8}", re.DOTALL)


class When(Struct, frozen=True):
    user: str | None = None
    tool: str | None = None


class ScriptedCall(Struct, frozen=True):
    name: str
    arguments: dict[str, Any] | str = {}
    enforced: bool = False


class Turn(Struct, frozen=True, kw_only=True):
    when: When = When()
    say: str | list[str] = ""
    reason: str = ""
    refuse: str = ""
    calls: list[ScriptedCall] = []
    finish: str | None = None
    pace_ms: float = 0
    usage: Usage | None = None


class Script(Struct, frozen=True):
    turns: list[Turn]


class Scripted:
    """Replays a ModelScript. Holds no state: the conversation alone decides which turn answers."""

    def __init__(self, script: Script) -> None:
        self._turns = [(turn, re.compile(turn.when.user or "")) for turn in script.turns]

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        user, tool, result = _last(prompt)
        turn = self._turn(user, tool)
        for fragment in _said(turn, {"{user}": user, "{result}": result}):
            # Sleep even for 0 s: a long script must yield to other tasks and stay cancellable.
            await asyncio.sleep(turn.pace_ms / 1000)
            yield fragment
        if turn.usage is not None:
            yield Used(turn.usage)
        finish = turn.finish or ("calls" if turn.calls else "stop")
        if finish == "cut":
            raise Incomplete("The model's answer ended before it was finished: try again.")
        if finish.startswith("raise:"):
            raise _errors()[finish.removeprefix("raise:")]("The script says that the model fails here.")
        yield Finish(cast(Literal["stop", "length", "calls", "content_filter"], finish))

    def _turn(self, user: str, tool: str | None) -> Turn:
        for turn, pattern in self._turns:
            when = turn.when
            if when.tool is not None and when.tool != tool:
                continue
            answered = tool is not None and when.tool is None
            if when.user is not None and (answered or not pattern.search(user)):
                continue
            return turn
        return Turn(say=ECHO)


def model(name: str, options: Mapping[str, Any]) -> Scripted:
    """Load a script: `name` is its path, or `demo`. `pace_ms` applies to turns that set no pace."""
    _known(options, ("pace_ms",), f"The model scripted:{name}")
    path = DEMO if name == "demo" else Path(name)
    try:
        script = load(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"The script {path} cannot be read: {error.strerror}.") from error
    pace = options.get("pace_ms", 0)
    if not isinstance(pace, int | float) or not 0 <= pace < 60_000:
        raise ConfigError("pace_ms is a number of milliseconds from 0 up to a minute.", param="pace_ms")
    turns = [msgspec.structs.replace(turn, pace_ms=turn.pace_ms or pace) for turn in script.turns]
    return Scripted(Script(turns))


def load(text: bytes | str, where: str) -> Script:
    """Parse and check a script; `source_name` names it in errors."""
    try:
        raw = msgspec.json.decode(text)
        _known(raw, Script.__struct_fields__, where)
        script = msgspec.convert(raw, Script)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{where} is not a script: {error}") from error
    for number, (turn, given) in enumerate(zip(script.turns, raw["turns"], strict=True)):
        place = f"{where}: turns[{number}]"
        _known(given, Turn.__struct_fields__, place)
        _known(given.get("when"), When.__struct_fields__, f"{place}.when")
        _known(given.get("usage"), Usage.__struct_fields__, f"{place}.usage")
        for call in given.get("calls", ()):
            _known(call, ScriptedCall.__struct_fields__, f"{place}.calls")
        _check(turn, place)
    return script


def _check(turn: Turn, place: str) -> None:
    try:
        re.compile(turn.when.user or "")
    except re.error as error:
        raise ConfigError(f"{place}.when.user is not a regular expression: {error}") from error
    if turn.finish is not None:
        _known((turn.finish,), (*_FINISHES, *(f"raise:{code}" for code in _errors())), f"{place}.finish")
    if not 0 <= turn.pace_ms < 60_000:
        raise ConfigError(f"{place}.pace_ms is not between 0 and a minute.")


def _known(given: object, known: Iterable[str], place: str) -> None:
    """Raise ConfigError for a key that is not in `allowed`, with the nearest allowed one as a hint."""
    known = tuple(known)
    for word in given if isinstance(given, Mapping | tuple) else ():
        if word not in known:
            raise ConfigError(f"{place} does not know {word!r}. {meant(word, known)}", param=word)


def _errors() -> dict[str, type[RightseatError]]:
    """Map every error code to its exception class."""
    found: dict[str, type[RightseatError]] = {}
    open_ = [RightseatError]
    while open_:
        kind = open_.pop()
        found.setdefault(kind.code, kind)
        open_ += kind.__subclasses__()
    return found


def _last(prompt: Prompt) -> tuple[str, str | None, str]:
    """Return the last user text, and the name and result of the tool that answered after it, if any."""
    messages = [message for message in prompt.messages if message.role in ("user", "assistant", "tool")]
    user = next((message.text for message in reversed(messages) if message.role == "user"), "")
    if not messages or messages[-1].role != "tool":
        return user, None, ""
    last = messages[-1]
    names = {call.id: call.name for message in messages for call in message.calls}
    return user, last.name or names.get(last.call_id or "", ""), last.text


def _said(turn: Turn, words: Mapping[str, str]) -> Iterator[Fragment]:
    for token in _TOKEN.findall(_filled(turn.reason, words)):
        yield Reasoning(token)
    say = turn.say
    for token in _TOKEN.findall(_filled(say, words)) if isinstance(say, str) else say:
        yield Text(_filled(token, words) if isinstance(say, list) else token)
    for token in _TOKEN.findall(_filled(turn.refuse, words)):
        yield Refusal(token)
    for number, call in enumerate(turn.calls):
        yield CallName(number, call.name, call.enforced)
        for piece in _ARGUMENT.findall(_arguments(call, words)):
            yield CallArgs(number, piece)


def _arguments(call: ScriptedCall, words: Mapping[str, str]) -> str:
    if isinstance(call.arguments, str):
        return _filled(call.arguments, words)
    # Escape the values: a quote in user text must not end a JSON string.
    escaped = {mark: msgspec.json.encode(text).decode()[1:-1] for mark, text in words.items()}
    return _filled(msgspec.json.encode(call.arguments).decode(), escaped)


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\{user\}|\{result\}", lambda mark: words[mark.group()], text)
