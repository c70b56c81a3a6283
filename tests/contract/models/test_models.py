"""One suite over every model: the same case gives the same answer, whoever speaks."""

import asyncio

import pytest

from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing
from tests.contract.models.cases import CASES, LONG_CASE, ModelCase, collect_answer
from tests.contract.models.members import MEMBERS, UNSUPPORTED, MakeModel
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

PROMPT = Prompt(messages=(text_message("system", "Be brief."), text_message("user", "Hello")))

over_members = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)


async def collect_chunks(
    model: Model, chunks: list[ModelChunk], started: asyncio.Event | None = None
) -> list[ModelChunk]:
    async with closing(model.stream(PROMPT)) as stream:
        async for fragment in stream:
            chunks.append(fragment)
            if started is not None:
                started.set()
    return chunks


ANSWERED_CASES = [
    pytest.param(member, case, id=f"{name}-{case.name}")
    for name, member in MEMBERS.items()
    for case in CASES
    if case.name not in UNSUPPORTED.get(name, ())
]


@pytest.mark.demand(
    "engine.openai_name_survives_real",
    "models.openai_gains_responses_upstream",
    "models.wire_level_fakes_speak",
    "models.model_contract_suite_passes",
)
@pytest.mark.parametrize(("member", "case"), ANSWERED_CASES)
async def test_a_case(member: MakeModel, case: ModelCase) -> None:
    fragments: list[ModelChunk] = []
    async with member(case) as model:
        if case.error is None:
            await collect_chunks(model, fragments)
        else:
            with pytest.raises(case.error):
                await collect_chunks(model, fragments)
    assert collect_answer(fragments) == case.expected


@over_members
async def test_streams_at_the_same_time_do_not_mix(member: MakeModel) -> None:
    async with member(CASES[0]) as model:
        answers = await asyncio.gather(*(collect_chunks(model, []) for _ in range(10)))
    assert [collect_answer(fragments) for fragments in answers] == [CASES[0].expected] * 10


@over_members
async def test_a_model_answers_again(member: MakeModel) -> None:
    async with member(CASES[0]) as model:
        for _ in range(3):
            assert collect_answer(await collect_chunks(model, [])) == CASES[0].expected


@over_members
async def test_leaving_after_the_first_fragment_ends_the_work(member: MakeModel) -> None:
    async with member(LONG_CASE) as model, asyncio.timeout(HANG_TIMEOUT), closing(model.stream(PROMPT)) as stream:
        await anext(stream)


@pytest.mark.demand("models.model_contract_suite_passes")
@over_members
async def test_cancelling_while_it_waits_ends_the_work(member: MakeModel) -> None:
    async with member(LONG_CASE) as model, asyncio.timeout(HANG_TIMEOUT):
        fragments: list[ModelChunk] = []
        begun = asyncio.Event()
        task = asyncio.create_task(collect_chunks(model, fragments, begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(fragments) < 1000


@over_members
async def test_a_stream_that_is_never_read_does_nothing(member: MakeModel) -> None:
    async with member(LONG_CASE) as model, closing(model.stream(PROMPT)):
        pass
