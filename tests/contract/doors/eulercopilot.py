"""The EulerCopilot door as its web client uses it: the server keeps the conversation, a question is text."""

import json
import re
import uuid
from typing import Any

from tests.contract.doors.client_result import ClientResult
from tests.kit.client import RawHttpClient

ERROR_PATTERN = re.compile(r"(?:\n\n)?[^\n]* \(([a-z_]+)\)\Z")


class EulerClient:
    """euler-copilot-web 0.9.1. It brings no tools."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.history: list[dict[str, Any]] = []
        self.conversation = uuid.uuid4().hex
        self.record: str | None = None
        """The answer to give anew."""
        self.frames: list[dict[str, Any]] = []

    def build_request(self) -> tuple[str, dict[str, Any]]:
        question = self.history[-1]["content"] if self.history else ""
        body = {"question": question, "conversation_id": self.conversation, "language": "en"}
        return "/api/chat", body | {"record_id": self.record, "files": [], "user_selected_plugins": []}

    async def send_message(self, text: str) -> ClientResult:
        self.history.append({"role": "user", "content": text})
        return await self.send_history()

    async def send_results(self, results: dict[str, str]) -> ClientResult:
        raise NotImplementedError("this client has no tools")

    async def answer_question(self, value: Any) -> ClientResult:
        return await self.send_message({True: "yes", False: "No."}[value] if isinstance(value, bool) else value)

    async def send_history(self) -> ClientResult:
        target, body = self.build_request()
        async with RawHttpClient(self.url) as client:
            await client.post_json(target, body)
            head = await client.read_head()
            if head.status != 200:
                return ClientResult(error=(await client.read_json())["error"], status=head.status)
            data = [frame.data async for frame in client.iterate_frames() if frame.data]
        assert data[-1] == "[DONE]", "the client waits for it"
        self.frames = [json.loads(item) for item in data[:-1]]
        seen = ClientResult(text="".join(frame.get("content", "") for frame in self.frames), finish_reason="stop")
        if failed := ERROR_PATTERN.search(seen.text):
            seen.error, seen.text = failed[1], seen.text[: failed.start()]
        self.history.append({"role": "assistant", "content": seen.text})
        if "?" in seen.text or "？" in seen.text:
            seen.questions = [{"message": seen.text}]
        charts = [json.loads(frame["data"]) for frame in self.frames if frame.get("type") == "render"]
        seen.artifacts = [{"name": "", "content": chart} for chart in charts]
        return seen
