"""Follow-up questions after a flow, one for each `next_flow`."""

from __future__ import annotations

import logging
from typing import Any

from rightseat.documents.cut import cut_middle
from rightseat.engine.structured import generate_structured
from rightseat.errors import RightseatError
from rightseat.plugins.flows.flow import Flow, NextFlow
from rightseat.plugins.flows.stage import FlowServices
from rightseat.types.events import Suggestions

log = logging.getLogger(__name__)
MAX_SUGGESTIONS = 3
MAX_QUESTION_LENGTH = 80
# Tokens of the question and of the answer before.
CONVERSATION_BUDGET = 800


async def suggest_next_questions(
    flow: Flow, services: FlowServices, question: str, answer: str
) -> Suggestions | None:
    """Return up to three questions. Those in the file are shown unchanged; the model writes the others in
    one call. If it fails, only those are left out."""
    following = [(one, found) for one in flow.next_flow if (found := find_next_flow(one, flow, services))][
        :MAX_SUGGESTIONS
    ]
    unwritten = [found for one, found in following if not one.question]
    try:
        written = await write_questions(unwritten, services, question, answer) if unwritten else []
    except RightseatError as error:
        log.warning("next_flow of %s: no questions from the model: %s", flow.id, error.message)
        written = [""] * len(unwritten)
    texts_left = iter(written)
    texts = [one.question or next(texts_left) for one, _ in following]
    unique = dict.fromkeys(" ".join(text.split()) for text in texts if text.strip())
    return Suggestions(tuple(unique)) if unique else None


def find_next_flow(target: NextFlow, flow: Flow, services: FlowServices) -> Flow | None:
    """Return the flow that is named; None if it does not exist any more."""
    if target.plugin and target.plugin != flow.plugin:
        return services.flows.get(f"{target.plugin}/{target.flow}")
    return services.flows.get(f"{flow.plugin}/{target.flow}") or services.flows.get(target.flow)


async def write_questions(flows: list[Flow], services: FlowServices, question: str, answer: str) -> list[str]:
    text = {"type": "string", "minLength": 1, "maxLength": 2 * MAX_QUESTION_LENGTH}
    names = [f"question_{number}" for number in range(1, len(flows) + 1)]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": dict.fromkeys(names, text),
        "required": names,
        "additionalProperties": False,
    }
    listed = "\n".join(f"{number}. {cut_middle(one.description, 200)}" for number, one in enumerate(flows, 1))
    prompt = (
        f"A user asked:\n{cut_middle(question, CONVERSATION_BUDGET)}\n\nThe answer was:\n{cut_middle(answer, CONVERSATION_BUDGET)}\n\n"
        f"What could be done next:\n{listed}\n\n"
        "For each of these write what the user would say to ask for it: one short question or request in the "
        f"user's own voice and language, at most {MAX_QUESTION_LENGTH} characters, with the names and numbers of the "
        "conversation where they are needed."
    )
    answers = await generate_structured(services.model, prompt, schema)
    return [str(answers[name]) for name in names]
