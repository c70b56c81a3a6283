"""The embedded model behind the OpenBB door, asked as OpenBB Workspace asks."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from evals.widgets.dashboard import TABLES, WIDGETS, Added, Question
from rightseat.models.llamacpp import weights
from tests.kit.client import Client
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.unit.doors.openbb.client import Answer, Chat, item, read

CONFIG = """
[models.default]
spec = "local"
temperature = 0
[assistants.default]
system = "Answer in one short sentence, with the number."
"""


class Patient(Chat):
    """Waits for a slow model on a busy machine."""

    async def send(self, more: dict[str, Any]) -> Answer:
        async with Client(self.url, patience=5 * STUCK) as client:
            await client.post(self.path, {"messages": self.messages, **more})
            head = await client.head()
            return read(head, (await client.body()).decode(), old=False)


class Seen(NamedTuple):
    called: tuple[str, ...]
    """The widgets that were asked for, by all calls; each call was held against the client's rules."""
    calls: int
    text: str

    def right(self, question: Question) -> bool:
        return question.widget in self.called

    def numbered(self, question: Question) -> bool:
        return says(self.text, question.number)

    def alone(self, question: Question) -> bool:
        """The number and no other of the table: an answer, and not the table read out."""
        values = {str(value) for row in TABLES[question.widget] for value in row.values()}
        others = {value for value in values if value[0].isdigit() and "-" not in value} - {question.number}
        named = {value for value in others if says(question.text, value)}
        return self.numbered(question) and not any(says(self.text, value) for value in others - named)


def says(text: str, number: str) -> bool:
    """As a number of its own, its digits grouped or not."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return re.search(rf"(?<![\w.-]){re.escape(number)}(?!\d|\.\d|-\d)", plain) is not None


@asynccontextmanager
async def server() -> AsyncIterator[Server]:
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
    async with Server(config=CONFIG, env=env, patience=5 * STUCK) as running:
        yield running


async def ask(url: str, question: Question) -> Seen:
    """One question, and the tables that the answer asks for, until there are words."""
    chat = Patient(url, widgets=WIDGETS, timezone="UTC")
    answer = await chat.say(question.text)
    called: list[str] = []
    calls = 0
    while answer.call is not None:
        calls += 1
        wanted = [source["id"] for source in answer.sources]
        called += wanted
        found = [item(TABLES[id], data_type="object", parse_as="table") for id in wanted]
        answer = await chat.give(answer.call, *found)
    return Seen(tuple(called), calls, answer.text)


async def ask_over(url: str, added: Added) -> Seen:
    """One question over data that was added to it; a call is not carried out."""
    answer = await Patient(url, widgets=WIDGETS, timezone="UTC", context=[added.context]).say(added.text)
    wanted = tuple(source["id"] for source in answer.sources) if answer.call else ()
    return Seen(wanted, 1 if answer.call else 0, answer.text)
