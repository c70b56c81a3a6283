"""First questions asked of `rightseat serve` with nothing configured, at the OpenAI door and at AG-UI."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from evals.demo.cases import TIMEOUT, DemoCase, join_text, list_called_tools, run_case
from tests.kit.client import RawHttpClient

FOLDER = Path(__file__).parent
Door = Literal["openai", "agui"]
DOORS: tuple[Door, ...] = ("openai", "agui")


@dataclass(frozen=True)
class FirstQuestion:
    id: str
    lang: str
    kind: str
    text: str
    accept: str
    must: list[str]
    must_not: list[str]


@dataclass(frozen=True)
class RecordedAnswer:
    """What a person saw: text, questions for approval and kinds of artifacts. `problems`: rules it breaks."""

    id: str
    door: Door
    asked_at: str
    text: str
    calls: list[str]
    artifacts: list[str]
    problems: list[str]


def load_questions(name: str) -> list[FirstQuestion]:
    tables = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))["question"]
    return [FirstQuestion(**table) for table in tables]


async def ask_question(url: str, door: Door, question: FirstQuestion) -> RecordedAnswer:
    asked_at = datetime.now(UTC).isoformat(timespec="seconds")
    ask = ask_openai if door == "openai" else ask_agui
    text, calls, artifacts = await ask(url, question.text)
    return RecordedAnswer(question.id, door, asked_at, text, calls, artifacts, list_problems(question, text))


async def ask_openai(url: str, text: str) -> tuple[str, list[str], list[str]]:
    body = {"model": "default", "messages": [{"role": "user", "content": text}]}
    async with RawHttpClient(url, timeout=TIMEOUT) as client:
        await client.post_json("/v1/chat/completions", body)
        head = await client.read_head()
        answer: dict[str, Any] = json.loads(await client.read_body())
    assert head.status == 200, answer
    return answer["choices"][0]["message"]["content"] or "", [], []


async def ask_agui(url: str, text: str) -> tuple[str, list[str], list[str]]:
    events = await run_case(url, DemoCase(text, lambda _events: True))
    interrupts = events[-1].get("outcome", {}).get("interrupts", ())
    shown = [join_text(events), *(interrupt["message"] for interrupt in interrupts)]
    artifacts = [event["value"]["kind"] for event in events if event.get("name") == "artifact"]
    return "\n\n".join(filter(None, shown)), list_called_tools(events), artifacts


def list_problems(question: FirstQuestion, text: str) -> list[str]:
    """Return the mechanical rules of the rubric that the answer breaks."""
    broken = [f"must not: {rule}" for rule in question.must_not if re.search(rule, text, re.IGNORECASE)]
    if question.must and not any(re.search(rule, text, re.IGNORECASE) for rule in question.must):
        broken.append("must: nothing matches")
    return broken or ([] if text.strip() else ["empty"])


def write_answers(path: Path, answers: list[RecordedAnswer]) -> None:
    lines = (json.dumps(asdict(answer), ensure_ascii=False) for answer in answers)
    path.write_text("\n".join(lines) + "\n", "utf-8")
