"""Conversations and their records, as EulerCopilot's clients list them.

A conversation is a stored thread. One without a question yet is no thread: it is kept as a draft of its owner, of
which there is at most one, because the clients create a conversation before they ask and create another one for as
long as the list is empty.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.errors import NotFound
from rightseat.http.agui.visible_branch import load_entries, visible_branch
from rightseat.http.endpoint import Host
from rightseat.types.events import RunStarted
from rightseat.types.output import RunOutput
from rightseat.types.stores import CheckpointStore
from rightseat.types.threads import StopPending, ThreadEntry, UserInput
from rightseat.types.turn import Owner

DRAFT_KEY = "eulercopilot/draft"
DRAFT_SECONDS = 30 * 86400.0
NEW_CHAT = "New Chat"
MAX_CONVERSATIONS = 200
RUN_PREFIX = "euler-"
"""Begins the ids of this door's runs, by which it knows them among those of other doors."""


class Draft(Struct):
    """A conversation without a question."""

    id: str
    created: float
    title: str = NEW_CHAT


class RecordedRun(Struct):
    """One question of a conversation, with the run that answered it."""

    user_input: UserInput
    run: str = ""
    entries: list[ThreadEntry] = []

    @property
    def question(self) -> str:
        return next((m.text for m in reversed(self.user_input.messages) if m.role == "user"), "")

    @property
    def answer(self) -> str:
        return RunOutput(self.entries).join_texts()


def get_checkpoints(host: Host) -> CheckpointStore | None:
    """Return the store for drafts and uploaded files; None where an operator's own store keeps none."""
    store = host.threads.store
    return store if isinstance(store, CheckpointStore) else None


async def load_draft(host: Host, owner: Owner) -> Draft | None:
    """Return the owner's conversation that has no question yet."""
    store = get_checkpoints(host)
    body = await store.get_checkpoint(owner, DRAFT_KEY) if store else None
    draft = msgspec.json.decode(body, type=Draft) if body else None
    return None if draft and await host.threads.store.has_thread(owner, draft.id) else draft


async def save_draft(host: Host, owner: Owner, draft: Draft) -> None:
    if store := get_checkpoints(host):
        await store.save_checkpoint(owner, DRAFT_KEY, msgspec.json.encode(draft), DRAFT_SECONDS)


async def end_draft(draft: Draft, host: Host, owner: Owner) -> None:
    """Forget the draft, whose conversation is a thread now; the thread gets the title that the draft had."""
    if store := get_checkpoints(host):
        await store.delete_checkpoint(owner, DRAFT_KEY)
    if draft.title != NEW_CHAT:
        await host.threads.store.update_thread(owner, draft.id, name=draft.title)


async def create_conversation(host: Host, owner: Owner) -> str:
    """Return the id of the conversation without a question; make one if there is none."""
    draft = await load_draft(host, owner)
    if draft is None:
        draft = Draft(uuid.uuid4().hex, time.time())
        await save_draft(host, owner, draft)
    return draft.id


async def list_conversations(host: Host, owner: Owner) -> list[dict[str, Any]]:
    """List the conversations, the oldest first: the web client turns the list round."""
    threads = await host.threads.store.list_threads(owner, limit=MAX_CONVERSATIONS)
    listed = [format_conversation(thread.id, thread.name, thread.created) for thread in reversed(threads)]
    draft = await load_draft(host, owner)
    return [*listed, format_conversation(draft.id, draft.title, draft.created)] if draft else listed


def format_conversation(id: str, title: str, created: float) -> dict[str, Any]:
    return {"conversation_id": id, "title": title or NEW_CHAT, "created_time": format_time(created)}


def format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


async def rename_conversation(host: Host, owner: Owner, id: str, title: str) -> dict[str, Any]:
    if thread := await host.threads.store.update_thread(owner, id, name=title):
        return format_conversation(thread.id, thread.name, thread.created)
    draft = await load_draft(host, owner)
    if draft is None or draft.id != id:
        raise NotFound(f"conversation_id: there is no conversation {id[:64]!r}.", param="conversation_id")
    draft.title = title
    await save_draft(host, owner, draft)
    return format_conversation(draft.id, draft.title, draft.created)


async def delete_conversations(host: Host, owner: Owner, ids: list[str]) -> list[str]:
    """Delete conversations and return the ids of those that existed."""
    deleted = [id for id in ids if await host.threads.delete(owner, id)]
    draft, store = await load_draft(host, owner), get_checkpoints(host)
    if draft and store and draft.id in ids:
        await store.delete_checkpoint(owner, DRAFT_KEY)
        deleted.append(draft.id)
    return deleted


async def load_runs(host: Host, owner: Owner, id: str) -> list[RecordedRun]:
    """Return the visible questions of a conversation in order, each with its last answer."""
    entries = visible_branch(await load_entries(host.threads.store, owner, id))
    return list(split_runs(entries))


def split_runs(entries: list[ThreadEntry]) -> Iterator[RecordedRun]:
    current: RecordedRun | None = None
    for entry in entries:
        if isinstance(entry, UserInput):
            if current is not None:
                yield current
            current = RecordedRun(entry)
        elif current is not None:
            if isinstance(entry, RunStarted):
                current.run = entry.run
            current.entries.append(entry)
    if current is not None:
        yield current


async def list_records(host: Host, owner: Owner, id: str) -> list[dict[str, Any]] | None:
    """List the questions and answers of a conversation; None if there is no such conversation."""
    thread = await host.threads.store.get_thread(owner, id)
    if thread is None:
        draft = await load_draft(host, owner)
        return [] if draft and draft.id == id else None
    return [
        {
            "conversation_id": id,
            "record_id": run.run,
            "group_id": run.run,
            "question": run.question,
            "answer": run.answer,
            "created_time": format_time(thread.created),
            "is_like": None,
        }
        for run in await load_runs(host, owner, id)
    ]


async def stop_runs(host: Host, owner: Owner) -> None:
    """Stop the owner's running answers of this door: its clients name no conversation."""
    for thread in await host.threads.store.list_threads(owner, limit=MAX_CONVERSATIONS):
        if thread.run.startswith(RUN_PREFIX):
            # Another worker that has the run ends it as soon as it hears of it.
            with contextlib.suppress(StopPending):
                await host.threads.stop(owner, thread.id)
