"""One agent of a remote endpoint as a Responder."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable

import msgspec
from msgspec import Struct

from rightseat.agents._peer.lookout import Lookout
from rightseat.agents._peer.reach import Reach
from rightseat.agents.agui.aliases import Aliases
from rightseat.agents.agui.asked import Asked
from rightseat.agents.agui.questions import thread_of as agui_thread
from rightseat.agents.agui.request import message_ids
from rightseat.agents.agui.threads import peer_thread
from rightseat.agents.copilotkit.graph import GraphLines
from rightseat.agents.copilotkit.lines import Lines
from rightseat.agents.copilotkit.request import body, recalled
from rightseat.agents.copilotkit.runtime import RuntimeLines
from rightseat.agents.langgraph.questions import place
from rightseat.errors import AgentNotFound, CallerError, Incomplete, UpstreamRefused
from rightseat.types.agents import Recalled
from rightseat.types.events import Event, Interrupt
from rightseat.types.streams import closing
from rightseat.types.turn import MAX_DEPTH, Owner, Turn

# How many threads' stopped nodes are remembered.
_PLACES = 1000


class Sort(Struct, frozen=True):
    """Distinguishes the two dialects: LangGraph lines have `event`, runtime lines have `type`."""

    event: str | None = None


Dialect = GraphLines | RuntimeLines
_sort = msgspec.json.Decoder(Sort).decode


class RemoteAgent:
    can_ask = True

    def __init__(
        self,
        name: str,
        reach: Reach,
        lookout: Lookout,
        known: Callable[[], Collection[str]],
        *,
        description: str,
        title: str,
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self._reach = reach
        self._lookout = lookout
        self._known = known
        self._asked = Asked(thread_of)
        self._aliases = Aliases()
        self._places: dict[uuid.UUID, str] = {}

    @property
    def down(self) -> str:
        return self._lookout.down

    async def recall(self, owner: Owner, thread: str, /) -> Recalled | None:
        known = {"name": self.name, "threadId": str(peer_thread(owner, thread)), "properties": {}}
        told = await self._reach.json("POST", ("agents", "state"), known, owner=owner, absent=True)
        if not isinstance(told, dict) or not told.get("threadExists"):
            return None
        return Recalled(told.get("state"), recalled(told.get("messages")))

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        if turn.depth > MAX_DEPTH:
            raise CallerError(f"Assistants call each other more than {MAX_DEPTH} deep. Break the circle.")
        await self._lookout.again()
        if self.name not in (known := self._known()):
            raise AgentNotFound(
                f"The endpoint has no agent {self.name!r}. Those that exist: {', '.join(known)}"
            )
        thread, turn = self._asked.found(turn)
        ids = message_ids(turn, thread, self._aliases)
        self._asked.answer(turn)
        told: Dialect | None = None
        done = False
        try:
            async with closing(self._lines(turn, thread, ids)) as lines:
                async for line in lines:
                    told = told or self._dialect(line)(turn, thread, ids, self._reach.faults)
                    for event in self._read(told, line):
                        yield event
            if told is None:
                raise self._reach.faults.incomplete()
            last = list(told.end())
            done = True
        finally:
            if not done:
                self._asked.failed(turn)
        self._stopped(thread, told.node)
        self._asked.done(turn, thread, [event.id for event in last if isinstance(event, Interrupt)])
        self._aliases.learn(thread, told.results)
        for event in last:
            yield event

    async def _lines(self, turn: Turn, thread: uuid.UUID, ids: list[str]) -> AsyncIterator[bytes]:
        sent = body(self.name, turn, thread, ids, self._place(turn, thread))
        lines = Lines(self._reach.faults)
        try:
            answer = await self._reach.stream("POST", ("agents", "execute"), sent, turn=turn)
        except UpstreamRefused as error:
            self._lookout.lost(error)
            raise
        self._lookout.seen()
        begun = False
        async with answer:
            try:
                async for data in answer:
                    for line in lines.feed(data):
                        begun = True
                        yield line
            except Incomplete as error:
                # An endpoint reports a failed agent only by breaking off the stream.
                raise (self._reach.faults.failed() if begun else error) from error
        for line in lines.close():
            yield line

    def _place(self, turn: Turn, thread: uuid.UUID) -> str | None:
        """Return the node where the agent resumes: the remembered one, else the client's; None with answers,
        which go to the interrupted node."""
        known = self._places.pop(thread, turn.forwarded.node or None)
        return None if turn.answers else known

    def _dialect(self, line: bytes) -> type[Dialect]:
        try:
            graph = _sort(line).event is not None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._reach.faults.garbled("not JSON by lines") from error
        return GraphLines if graph else RuntimeLines

    def _read(self, told: Dialect, line: bytes) -> Iterable[Event]:
        try:
            return list(told.feed(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, AttributeError) as error:
            raise self._reach.faults.garbled("a line that is no event") from error

    def _stopped(self, thread: uuid.UUID, node: str | None) -> None:
        if node is not None:
            self._places[thread] = node
            if len(self._places) > _PLACES:
                del self._places[next(iter(self._places))]


def thread_of(interrupt: str) -> uuid.UUID | None:
    """Return the thread of an interrupt id of either dialect."""
    at = place(interrupt)
    return at[0] if at else agui_thread(interrupt)
