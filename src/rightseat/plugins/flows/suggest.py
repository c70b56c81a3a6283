"""Follow-up questions after a flow, one for each `next_flow`."""

from __future__ import annotations

import logging
from typing import Any

from rightseat.documents.cut import middle
from rightseat.engine.structured import structured
from rightseat.errors import RightseatError
from rightseat.plugins.flows.flow import Flow, Next
from rightseat.plugins.flows.stage import Kit
from rightseat.types.events import Suggestions

log = logging.getLogger(__name__)
MOST = 3
LONGEST = 80
# Tokens of the question and of the answer before.
BEFORE = 800


async def suggested(flow: Flow, kit: Kit, question: str, answer: str) -> Suggestions | None:
    """Return up to three questions. Those in the file are shown unchanged; the model writes the others in
    one call. If it fails, only those are left out."""
    following = [(one, found) for one in flow.next_flow if (found := of(one, flow, kit))][:MOST]
    open_ones = [found for one, found in following if not one.question]
    try:
        written = await rewritten(open_ones, kit, question, answer) if open_ones else []
    except RightseatError as error:
        log.warning("next_flow of %s: no questions from the model: %s", flow.id, error.message)
        written = [""] * len(open_ones)
    fresh = iter(written)
    texts = [one.question or next(fresh) for one, _ in following]
    kept = dict.fromkeys(" ".join(text.split()) for text in texts if text.strip())
    return Suggestions(tuple(kept)) if kept else None


def of(one: Next, flow: Flow, kit: Kit) -> Flow | None:
    """Return the flow that is named; None if it does not exist any more."""
    if one.plugin and one.plugin != flow.plugin:
        return kit.flows.get(f"{one.plugin}/{one.flow}")
    return kit.flows.get(f"{flow.plugin}/{one.flow}") or kit.flows.get(one.flow)


async def rewritten(flows: list[Flow], kit: Kit, question: str, answer: str) -> list[str]:
    text = {"type": "string", "minLength": 1, "maxLength": 2 * LONGEST}
    names = [f"question_{number}" for number in range(1, len(flows) + 1)]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": dict.fromkeys(names, text),
        "required": names,
        "additionalProperties": False,
    }
    listed = "\n".join(f"{number}. {middle(one.description, 200)}" for number, one in enumerate(flows, 1))
    asked = (
        f"A user asked:\n{middle(question, BEFORE)}\n\nThe answer was:\n{middle(answer, BEFORE)}\n\n"
        f"What could be done next:\n{listed}\n\n"
        "For each of these write what the user would say to ask for it: one short question or request in the "
        f"user's own voice and language, at most {LONGEST} characters, with the names and numbers of the "
        "conversation where they are needed."
    )
    said = await structured(kit.model, asked, schema)
    return [str(said[name]) for name in names]
