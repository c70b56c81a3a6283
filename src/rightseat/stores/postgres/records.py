"""RecordTable: continuations, pending questions, tool results and checkpoints."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any, Literal

from msgspec.structs import replace

from rightseat.errors import RightseatError, StoreFailed
from rightseat.stores.encoding import continuation_decoder, decode_record, encode_json, question_decoder
from rightseat.stores.postgres import statements as sql
from rightseat.stores.postgres.database import PostgresDatabase
from rightseat.stores.postgres.keys import encode_key, escape_text, label_key
from rightseat.types.stores import Continuation, PendingQuestion
from rightseat.types.turn import Owner

RecordKind = Literal["continuation", "question", "result", "note"]
Update = Callable[[bytes | None], bytes | None]
PendingUpdate = tuple[Update, float | None, "asyncio.Future[None]"]
RecordKey = tuple[str, str]


class RecordTable:
    def __init__(
        self,
        database: PostgresDatabase,
        lifetime: float,
        clock: Callable[[], float] | None,
        worker: str,
        find_dead: Callable[[Collection[str]], Awaitable[set[str]]],
    ) -> None:
        self.database = database
        self.lifetime = lifetime
        self.clock = clock
        self.worker = worker
        self.find_dead = find_dead
        self.claims: dict[RecordKey, str] = {}
        """Claims of continuations that turns of this process have."""
        self.updates: dict[RecordKey, list[PendingUpdate]] = {}
        """Updates of checkpoints that wait for one that is under way."""

    def get_time(self) -> float | None:
        """Return the time of a test's clock; None for the database's."""
        return self.clock() if self.clock else None

    def make_values(self, owner: Owner, key: str, **more: Any) -> dict[str, Any]:
        return {"owner": encode_key(owner.name), "key": encode_key(key), "now": self.get_time(), **more}

    # Continuations

    async def save_continuation(self, continuation: Continuation) -> None:
        body = encode_json(replace(continuation, claimed_by=""))
        values = {
            "assistant": escape_text(continuation.assistant),
            "waits": list_awaited_ids(continuation),
            "claimed": escape_text(continuation.claimed_by),
        }
        await self.put("continuation", continuation.owner, continuation.ticket, body, **values)

    async def get_continuation(self, owner: Owner, resume_token: str) -> Continuation | None:
        values = self.make_values(owner, resume_token, kind="continuation")
        rows = await self.database.execute(sql.GET_RECORD, values, again=True)
        if not rows:
            return None
        body, claimed = rows[0]
        if claimed and not await self.find_dead([parse_claimant(claimed)]):
            return None
        return decode_record(body, continuation_decoder)

    async def claim_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        claim = f"{self.worker}:{secrets.token_hex(4)}"
        values = self.make_values(
            owner,
            resume_token,
            assistant=escape_text(assistant),
            answered=list(map(escape_text, answered_ids)),
            claim=claim,
            # A statement whose connection broke may have run: it is found by its own claim.
            dead=[claim],
        )
        task = self.database.start(self.claim(values))
        try:
            body = await asyncio.shield(task)
        except asyncio.CancelledError:
            # The caller is gone and would never settle the claim.
            self.database.start(self.unclaim_after(task, values))
            raise
        continuation = decode_record(body, continuation_decoder)
        if continuation is not None:
            self.claims[values["owner"], values["key"]] = claim
        return continuation

    async def claim(self, values: dict[str, Any]) -> bytes | None:
        rows = await self.database.execute(sql.CLAIM_CONTINUATION, values, again=True)
        if not rows and (claims := await self.database.execute(sql.FIND_CLAIM, values, again=True)):
            holder: str = claims[0][0]
            if await self.find_dead([parse_claimant(holder)]):
                values["dead"] = [values["claim"], holder]
                rows = await self.database.execute(sql.CLAIM_CONTINUATION, values, again=True)
        body: bytes | None = rows[0][0] if rows else None
        return body

    async def unclaim_after(self, task: asyncio.Task[bytes | None], values: dict[str, Any]) -> None:
        await asyncio.wait([task])
        await self.database.execute(sql.RELEASE_CONTINUATION, values, again=True)

    async def settle_continuation(self, owner: Owner, resume_token: str) -> None:
        await self.end_claim(sql.SETTLE_CONTINUATION, owner, resume_token)

    async def release_continuation(self, owner: Owner, resume_token: str) -> None:
        await self.end_claim(sql.RELEASE_CONTINUATION, owner, resume_token)

    async def holds_claim(self, owner: Owner, resume_token: str) -> bool:
        """Whether the continuation is still claimed by this process."""
        values = self.make_values(owner, resume_token, kind="continuation")
        rows = await self.database.execute(sql.GET_RECORD, values, again=True)
        claim = self.claims.get((values["owner"], values["key"]))
        return bool(rows) and claim is not None and rows[0][1] == claim

    async def end_claim(self, statement: str, owner: Owner, resume_token: str) -> None:
        values = self.make_values(owner, resume_token)
        values["claim"] = self.claims.pop((values["owner"], values["key"]), None)
        if values["claim"] is not None:
            await self.database.execute(statement, values, again=True)

    # Questions and results

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None:
        await self.put("question", owner, conversation, encode_json(question))

    async def get_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        return decode_record(await self.get("question", owner, conversation), question_decoder)

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        rows = await self.database.execute(sql.TAKE_RECORD, self.make_values(owner, conversation, kind="question"))
        return decode_record(rows[0][0], question_decoder) if rows and rows[0][1] else None

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        if not results:
            return
        values = {
            "owner": encode_key(owner.name),
            "now": self.get_time(),
            "seconds": self.lifetime,
            "keys": list(map(encode_key, results)),
            "labels": list(map(label_key, results)),
            "bodies": [text.encode("utf-8", "surrogatepass") for text in results.values()],
        }
        await self.database.execute(sql.PUT_RESULTS, values, again=True)

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        if not call_ids:
            return {}
        by_key = {encode_key(call): call for call in call_ids}
        values = {"owner": encode_key(owner.name), "now": self.get_time(), "keys": list(by_key)}
        rows = await self.database.execute(sql.GET_RESULTS, values, again=True)
        bodies = {by_key[key]: body.decode("utf-8", "surrogatepass") for key, body in rows}
        return {call: bodies[call] for call in call_ids if call in bodies}

    # Checkpoints

    async def update_checkpoint(self, owner: Owner, key: str, update: Update, seconds: float | None = None) -> None:
        record = (owner.name, key)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        pending: PendingUpdate = (update, seconds, future)
        if record in self.updates:
            # One transaction for all that wait: they would only wait for each other in the database.
            self.updates[record].append(pending)
        else:
            self.updates[record] = [pending]
            self.database.start(self.run_updates(owner, key))
        await future

    async def run_updates(self, owner: Owner, key: str) -> None:
        record = (owner.name, key)
        while batch := [pending for pending in self.updates[record] if not pending[2].cancelled()]:
            self.updates[record] = []
            try:
                job = partial(self.apply_updates, owner, key, batch)
                outcomes = await self.database.watch(self.database.repeat(job))
            except RightseatError as error:
                outcomes = [error] * len(batch)
            for (_, _, future), outcome in zip(batch, outcomes, strict=True):
                if future.done():
                    continue
                if outcome is None:
                    future.set_result(None)
                else:
                    future.set_exception(outcome)
        del self.updates[record]

    async def apply_updates(
        self, owner: Owner, key: str, batch: Collection[PendingUpdate]
    ) -> list[RightseatError | None]:
        """Apply updates to one checkpoint in a transaction; returns the error of each, or None."""
        values = self.make_values(owner, key, kind="note", schema=self.database.schema)
        outcomes: list[RightseatError | None] = []
        is_committing = False
        try:
            async with self.database.transaction() as transaction:
                await transaction.execute(sql.LOCK_RECORD, values)
                rows = await transaction.execute(sql.GET_RECORD, values)
                body: bytes | None = rows[0][0] if rows else None
                seconds: float | None = None
                for update, lifetime, _ in batch:
                    try:
                        body, seconds = update(body), lifetime
                        outcomes.append(None)
                    except RightseatError as error:
                        outcomes.append(error)
                if None in outcomes and body is None:
                    await transaction.execute(sql.DROP_RECORD, values)
                elif None in outcomes and body is not None:
                    await transaction.execute(sql.PUT_RECORD, self.make_record("note", owner, key, body, seconds))
                is_committing = True
        except StoreFailed as error:
            if is_committing:
                # It may be committed, and an update that counts must not count twice.
                raise StoreFailed(error.message) from None
            raise
        return outcomes

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        # As an update: none that is under way may overwrite it.
        await self.update_checkpoint(owner, key, lambda _: body, seconds)

    async def delete_checkpoint(self, owner: Owner, key: str) -> None:
        await self.update_checkpoint(owner, key, lambda _: None)

    # Rows

    async def get(self, kind: RecordKind, owner: Owner, key: str) -> bytes | None:
        rows = await self.database.execute(sql.GET_RECORD, self.make_values(owner, key, kind=kind), again=True)
        return rows[0][0] if rows else None

    async def put(self, kind: RecordKind, owner: Owner, key: str, body: bytes, **more: Any) -> None:
        values = self.make_record(kind, owner, key, body)
        await self.database.execute(sql.PUT_RECORD, {**values, **more}, again=True)

    def make_run_record(self, owner: Owner, key: str, body: bytes | None) -> dict[str, Any]:
        """Make the row of a run's record, which is written with its lease."""
        return {**self.make_record("note", owner, key, body or b""), "body": body}

    def make_record(
        self, kind: RecordKind, owner: Owner, key: str, body: bytes, seconds: float | None = None
    ) -> dict[str, Any]:
        return self.make_values(
            owner,
            key,
            kind=kind,
            label=label_key(key),
            seconds=seconds or self.lifetime,
            weight=len(body),
            assistant="",
            waits=[],
            claimed="",
            body=body,
        )


def parse_claimant(claim: str) -> str:
    """Return the worker of a claim."""
    return claim.partition(":")[0]


def list_awaited_ids(continuation: Continuation) -> list[str]:
    """List the ids whose answer lets a turn claim the continuation, as `Continuation.is_answered_by` checks them."""
    ids = [id for id, call in continuation.calls.items() if call.client and call.result is None]
    ids += [question.interrupt.id for call in continuation.calls.values() for question in call.open]
    return list(map(escape_text, ids))
