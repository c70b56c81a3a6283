"""The embedded model behind the OpenBB door, asked as OpenBB Workspace asks."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from evals.widgets.dashboard import TABLES, WIDGETS, AddedDataQuestion, Question
from rightseat.models.llamacpp import weights
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.openbb.client import OpenBBChat, QueryAnswer, make_result_item, parse_answer

CONFIG = """
[models.default]
spec = "local"
temperature = 0
[assistants.default]
system = "Answer in one short sentence, with the number."
"""


class PatientChat(OpenBBChat):
    """Waits for a slow model on a busy machine."""

    async def post_messages(self, more: dict[str, Any]) -> QueryAnswer:
        async with RawHttpClient(self.url, timeout=5 * HANG_TIMEOUT) as client:
            await client.post_json(self.path, {"messages": self.messages, **more})
            head = await client.read_head()
            return parse_answer(head, (await client.read_body()).decode(), legacy=False)


class WidgetAnswer(NamedTuple):
    widgets: tuple[str, ...]
    """The widgets that were asked for, by all calls; each call was held against the client's rules."""
    calls: int
    text: str

    def has_right_widget(self, question: Question) -> bool:
        return question.widget in self.widgets

    def has_number(self, question: Question) -> bool:
        return contains_number(self.text, question.number)

    def has_only_number(self, question: Question) -> bool:
        """The number and no other of the table: an answer, and not the table read out."""
        values = {str(value) for row in TABLES[question.widget] for value in row.values()}
        others = {value for value in values if value[0].isdigit() and "-" not in value} - {question.number}
        named = {value for value in others if contains_number(question.text, value)}
        return self.has_number(question) and not any(contains_number(self.text, value) for value in others - named)


def contains_number(text: str, number: str) -> bool:
    """As a number of its own, its digits grouped or not."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return re.search(rf"(?<![\w.-]){re.escape(number)}(?!\d|\.\d|-\d)", plain) is not None


@asynccontextmanager
async def serve_model() -> AsyncIterator[RightseatProcess]:
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
    async with RightseatProcess(config=CONFIG, env=env, start_timeout=5 * HANG_TIMEOUT) as running:
        yield running


async def ask_question(url: str, question: Question) -> WidgetAnswer:
    """One question, and the tables that the answer asks for, until there are words."""
    chat = PatientChat(url, widgets=WIDGETS, timezone="UTC")
    answer = await chat.send_text(question.text)
    called: list[str] = []
    calls = 0
    while answer.call is not None:
        calls += 1
        wanted = [source["id"] for source in answer.sources]
        called += wanted
        found = [make_result_item(TABLES[id], data_type="object", parse_as="table") for id in wanted]
        answer = await chat.send_result(answer.call, *found)
    return WidgetAnswer(tuple(called), calls, answer.text)


async def ask_over_added_data(url: str, added: AddedDataQuestion) -> WidgetAnswer:
    """One question over data that was added to it; a call is not carried out."""
    answer = await PatientChat(url, widgets=WIDGETS, timezone="UTC", context=[added.context]).send_text(added.text)
    wanted = tuple(source["id"] for source in answer.sources) if answer.call else ()
    return WidgetAnswer(wanted, 1 if answer.call else 0, answer.text)
