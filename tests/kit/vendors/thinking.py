"""OpenAI-compatible vendors of thinking models, with their own rules about thoughts of earlier answers.

Each asks for the first tool after a user message, with a thought, and answers after a result. It checks what it is
sent as the real one does: DeepSeek's and Kimi's thinking mode refuse a call without the thought before it, Google's
endpoint one without its signature; OpenAI and DeepSeek's R1 refuse all thoughts.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from tests.kit.answers import ChatReply, write_json
from tests.kit.chunks import Json, make_call_delta, make_chunk, make_error_body, make_tool_call
from tests.kit.connection import Connection, ReceivedRequest

VendorName = Literal["deepseek", "kimi", "google", "openrouter", "strict"]
ARGUMENTS = '{"title": "Rome"}'
ANSWER = "It is sunny."
FINAL_THOUGHT = "That was all."


@dataclass
class ThinkingVendor:
    """An upstream's reply. `refusals` are the errors that it answered with."""

    vendor: VendorName
    key: str = "reasoning_content"
    """The field of its thoughts."""
    thoughts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        problem = self.find_problem(request.messages)
        if problem is not None:
            self.refusals.append(problem)
            await write_json(connection, 400, make_error_body(problem, "invalid_request_error"))
            return
        await self.make_reply(request)(connection, request)

    def find_problem(self, messages: list[Json]) -> str | None:
        for index, message in enumerate(messages):
            if message["role"] == "assistant":
                problem = self.find_message_problem(message, index)
                if problem is not None:
                    return problem
        return None

    def find_message_problem(self, message: Json, index: int) -> str | None:
        calls: list[Json] = message.get("tool_calls") or []
        thought = message.get(self.key)
        match self.vendor:
            case "deepseek" if calls and not isinstance(thought, str):
                return "The `reasoning_content` in the thinking mode must be passed back to the API."
            case "kimi" if calls and not thought:
                place = f"in assistant tool call message at index {index}"
                return f"thinking is enabled but reasoning_content is missing {place}"
            case "openrouter" if calls and message.get("reasoning_details") not in [*map(make_details, self.thoughts)]:
                return "reasoning_details are missing or were changed"
            case "google":
                for number, call in enumerate(calls):
                    if number == 0 and call.get("extra_content") != SIGNATURE:
                        return "Function call is missing a thought_signature in functionCall parts."
            case "strict":
                extra = {"reasoning_content", "reasoning", "reasoning_details"} & message.keys()
                extra |= {"extra_content" for call in calls if "extra_content" in call}
                return f"Unknown parameter: {extra}" if extra else None
        if thought and thought not in self.thoughts and thought != ".":
            return f"these are not the thoughts that were sent: {thought}"
        return None

    def make_reply(self, request: ReceivedRequest) -> ChatReply:
        if request.messages[-1]["role"] == "tool":
            self.thoughts.append(FINAL_THOUGHT)
            chunks = [make_chunk({self.key: FINAL_THOUGHT}), make_chunk({"content": ANSWER})]
            return ChatReply(chunks, {self.key: FINAL_THOUGHT, "content": ANSWER})
        name = request.json["tools"][0]["function"]["name"]
        thought = f"Thought {len(self.thoughts) + 1}."
        self.thoughts.append(thought)
        return make_call_reply(self.vendor, self.key, thought, name)


SIGNATURE = {"google": {"thought_signature": "c2lnbmVk"}}


def make_details(thought: str) -> list[Json]:
    """The details of an answer, as they are when all pieces have come."""
    entry = {"type": "reasoning.text", "text": thought, "format": "anthropic-claude-v1", "index": 0}
    return [{**entry, "signature": "sig"}]


def make_call_reply(vendor: VendorName, key: str, thought: str, name: str) -> ChatReply:
    """The thought in two pieces, then a call."""
    half = len(thought) // 2
    pieces: list[Json] = [{key: thought[:half]}, {key: thought[half:]}]
    call: dict[str, Any] = make_call_delta(0, id="up_1", name=name, arguments=ARGUMENTS)
    whole = make_tool_call("up_1", name, ARGUMENTS)
    message: Json = {"content": None, key: thought, "tool_calls": [whole]}
    if vendor == "google":
        call["extra_content"] = whole["extra_content"] = SIGNATURE
    if vendor == "openrouter":
        [detail] = make_details(thought)
        first = {**detail, "text": thought[:half]}
        del first["signature"]
        second = {"type": detail["type"], "index": 0, "text": thought[half:], "signature": "sig"}
        pieces = [{**pieces[0], "reasoning_details": [first]}, {**pieces[1], "reasoning_details": [second]}]
        message["reasoning_details"] = [detail]
    chunks = [make_chunk(piece) for piece in pieces]
    return ChatReply([*chunks, make_chunk({"tool_calls": [call]})], message, "tool_calls")
