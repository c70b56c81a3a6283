"""One suite over every model: the same case gives the same answer, whoever speaks."""

import asyncio

import pytest

from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing
from tests.contract.models.cases import CASES, LONG, Case, heard
from tests.contract.models.members import MEMBERS, UNABLE, Member
from tests.kit.patience import STUCK

pytestmark = pytest.mark.io

PROMPT = Prompt(messages=(text_message("system", "Be brief."), text_message("user", "Hello")))

over_members = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)


async def collect(model: Model, out: list[ModelChunk], begun: asyncio.Event | None = None) -> list[ModelChunk]:
    async with closing(model.stream(PROMPT)) as stream:
        async for fragment in stream:
            out.append(fragment)
            if begun is not None:
                begun.set()
    return out


SAID = [
    pytest.param(member, case, id=f"{name}-{case.name}")
    for name, member in MEMBERS.items()
    for case in CASES
    if case.name not in UNABLE.get(name, ())
]


@pytest.mark.demand(
    "engine.openai_name_survives_real",
    "models.openai_gains_responses_upstream",
    "models.wire_level_fakes_speak",
    "models.model_contract_suite_passes",
)
@pytest.mark.parametrize(("member", "case"), SAID)
async def test_a_case(member: Member, case: Case) -> None:
    fragments: list[ModelChunk] = []
    async with member(case) as model:
        if case.fails is None:
            await collect(model, fragments)
        else:
            with pytest.raises(case.fails):
                await collect(model, fragments)
    assert heard(fragments) == case.heard


@over_members
async def test_streams_at_the_same_time_do_not_mix(member: Member) -> None:
    async with member(CASES[0]) as model:
        answers = await asyncio.gather(*(collect(model, []) for _ in range(10)))
    assert [heard(fragments) for fragments in answers] == [CASES[0].heard] * 10


@over_members
async def test_a_model_answers_again(member: Member) -> None:
    async with member(CASES[0]) as model:
        for _ in range(3):
            assert heard(await collect(model, [])) == CASES[0].heard


@over_members
async def test_leaving_after_the_first_fragment_ends_the_work(member: Member) -> None:
    async with member(LONG) as model, asyncio.timeout(STUCK), closing(model.stream(PROMPT)) as stream:
        await anext(stream)


@pytest.mark.demand("models.model_contract_suite_passes")
@over_members
async def test_cancelling_while_it_waits_ends_the_work(member: Member) -> None:
    async with member(LONG) as model, asyncio.timeout(STUCK):
        fragments: list[ModelChunk] = []
        begun = asyncio.Event()
        task = asyncio.create_task(collect(model, fragments, begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(fragments) < 1000


@over_members
async def test_a_stream_that_is_never_read_does_nothing(member: Member) -> None:
    async with member(LONG) as model, closing(model.stream(PROMPT)):
        pass
