"""The search in conversations, the same over every store: for their owner, in titles, questions and answers."""

from typing import Any

import pytest

from rightseat.errors import CallerError
from rightseat.server.playground.search import SearchForm, search_threads
from rightseat.types.events import ReasoningDelta, RunFinished, RunStarted, TextDelta, TextEnd, TextStart
from rightseat.types.messages import text_message
from rightseat.types.threads import ThreadEntry, UserInput
from rightseat.types.workers import PIECE_CHARS
from tests.contract.stores.members import FullStore
from tests.contract.stores.sample_runs import ME, YOU, append_run


def make_run(question: str, *answer: str, thinks: str = "") -> list[ThreadEntry]:
    said = [TextDelta("m1", part) for part in answer]
    thought = [ReasoningDelta("m0", thinks)] if thinks else []
    ask = UserInput((text_message("user", question, id="u1"),))
    return [ask, RunStarted("t", "r"), *thought, TextStart("m1"), *said, TextEnd("m1"), RunFinished("stop")]


async def search(store: FullStore, text: str, **options: Any) -> list[tuple[str, str]]:
    owner = options.pop("owner", ME)
    found = await search_threads(store, owner, SearchForm(text, **options))
    assert found["complete"]
    return [(hit.id, hit.snippet) for hit in found["threads"]]


@pytest.mark.demand("playground.search_in_messages")
async def test_titles_questions_and_answers_are_searched(store: FullStore) -> None:
    await append_run(store, make_run("Where is Berlin?", "In Ger", "many."), "first", name="Cities")
    await append_run(store, make_run("显示今年的销售额。", "六月最好。"), "second", name="销售")
    await append_run(store, make_run("Straße", "x" * 200 + " Needle " + "y" * 200), "third", name="Streets")
    assert await search(store, "berlin") == [("first", "Where is Berlin?")]
    # A word that came in two parts.
    assert await search(store, "GERMANY") == [("first", "In Germany.")]
    assert await search(store, "cities") == [("first", "")]
    assert await search(store, "今年") == [("second", "显示今年的销售额。")]
    assert await search(store, "六月") == [("second", "六月最好。")]
    [(thread, snippet)] = await search(store, "needle")
    assert (thread, snippet) == ("third", f"…{'x' * 29} Needle {'y' * 89}…")
    assert await search(store, "STRASSE") == []
    assert await search(store, ".*") == []


@pytest.mark.demand("playground.search_in_messages")
async def test_only_the_owners_own_are_found(store: FullStore) -> None:
    await append_run(store, make_run("The secret is 7.", "Noted."), owner=YOU)
    assert await search(store, "secret") == []
    assert await search(store, "secret", owner=YOU) == [("t", "The secret is 7.")]


async def test_a_long_text_is_searched_in_pieces_and_a_word_between_two_of_them_is_found(store: FullStore) -> None:
    long = "x" * (2 * PIECE_CHARS - 3) + "Needle" + "y" * PIECE_CHARS
    await append_run(store, make_run(long, "Noted."))
    assert await search(store, "needle") == [("t", f"…{'x' * 30}Needle{'y' * 90}…")]


async def test_the_newest_first_and_archived_ones_on_request(store: FullStore) -> None:
    for name in ("old", "new"):
        await append_run(store, make_run("apples", "ok", thinks="pears"), name)
    assert [thread for thread, _ in await search(store, "apples")] == ["new", "old"]
    await store.update_thread(ME, "new", archived=True)
    assert [thread for thread, _ in await search(store, "apples")] == ["old"]
    assert [thread for thread, _ in await search(store, "apples", archived=True)] == ["new", "old"]
    # What a model thought was not said.
    assert await search(store, "pears") == []


async def test_a_search_ends_in_time_and_says_that_it_is_not_whole(store: FullStore) -> None:
    await append_run(store, make_run("apples", "ok"))
    found = await search_threads(store, ME, SearchForm("apples"), seconds=-1)
    assert found == {"threads": [], "complete": False}
    for text in ("", "  ", "x" * 201):
        with pytest.raises(CallerError):
            await search_threads(store, ME, SearchForm(text))
