"""Skills of the person, which Workspace keeps: instructions in Markdown for a kind of task.

A skill is active if the person has selected it or if the model has loaded it in this chat. Active skills are
instructions; the others are offered for loading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rightseat.doors.openbb.wire import OpenBBQuery, SelectedSkill, as_dict, as_list, as_text, parse_state

GET_SKILL = "get_skill_content"
MAX_SKILLS = 8


def parse_skills(posted: Any) -> tuple[SelectedSkill, ...]:
    skills = map(parse_skill, as_list(posted)[:MAX_SKILLS])
    return tuple(skill for skill in skills if skill is not None)


def parse_skill(posted: Any) -> SelectedSkill | None:
    try:
        return msgspec.convert(posted, SelectedSkill)
    except (msgspec.ValidationError, RecursionError):
        return None


def parse_loaded_skill(result: Any) -> SelectedSkill | None:
    """Parse the result of loading a skill; None if it failed or has no instructions."""
    result = as_dict(result)
    skill = parse_skill(as_dict(result.get("data")).get("skill")) if result.get("status") == "success" else None
    return skill if skill and skill.content.strip() else None


def find_active_skills(query: OpenBBQuery) -> tuple[SelectedSkill, ...]:
    """Find the skills that the person has selected for this question, then those loaded in this chat, newest first."""
    messages = [as_dict(message) for message in query.messages]
    skills = list(parse_skills(query.selected_skills) or find_echoed_skills(messages))
    for message in reversed(messages):
        if as_text(message.get("role")) == "tool" and message.get("function") == GET_SKILL:
            loaded = map(parse_loaded_skill, as_list(message.get("data"))[:MAX_SKILLS])
            skills += [skill for skill in loaded if skill is not None]
    by_slug: dict[str, SelectedSkill] = {}
    for skill in skills:
        by_slug.setdefault(skill.slug, skill)
    return tuple(by_slug.values())[:MAX_SKILLS]


def find_echoed_skills(messages: list[dict[str, Any]]) -> tuple[SelectedSkill, ...]:
    """Find the selected skills in the state of this turn's calls: the client sends them with the question only."""
    for message in reversed(messages):
        if as_text(message.get("role")) in ("human", "user"):
            break
        if state := parse_state(message.get("extra_state")):
            return state.skills
    return ()


def exclude_skills(catalog: Any, skills: Iterable[SelectedSkill]) -> Any:
    """Return the catalog without the active skills; None stays None, for it tells of a legacy client."""
    if catalog is None:
        return None
    active = {skill.slug for skill in skills}
    return [item for item in as_list(catalog) if as_text(as_dict(item).get("slug")) not in active]


def iter_skill_instructions(skills: Iterable[SelectedSkill]) -> Iterator[tuple[str, str]]:
    """Yield active skills as (label, value), each under a heading: its own text may be long Markdown."""
    for skill in skills:
        content = skill.content.strip() or skill.description
        yield f"Follow the user's skill {skill.slug!r}", f"\n\n## Active Skill {skill.slug!r}\n\n{content}\n"
