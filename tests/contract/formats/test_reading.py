"""Every format reads the same out of a text, however it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.tools.text_calls.reader import ModelTextReader, TextFormatError
from tests.contract.formats.asking import asked, cut, expected, fits, fitting, over_members, read
from tests.contract.formats.cases import CASES, Said
from tests.contract.formats.members import Member
from tests.contract.models.cases import heard


@pytest.mark.demand("llamacpp.format_gives_same_fragments")
@over_members
def test_the_same_for_every_chunking(member: Member) -> None:
    plan = member.format.make_plan(asked())
    for case in fitting(member):
        text = member.write(case)
        assert read(plan, [text]) == expected(case)
        assert read(plan, text) == expected(case)
        for place in range(len(text)):
            assert read(plan, [text[:place], text[place:]]) == expected(case)


@pytest.mark.demand("llamacpp.format_gives_same_fragments")
@over_members
@given(st.sampled_from(CASES), st.lists(st.integers(0, 10_000), max_size=12), st.booleans())
def test_the_same_for_any_chunking(member: Member, case: Said, places: list[int], thinks: bool) -> None:
    if not fits(member, case):
        return
    thinking = member.thinking if thinks else ThinkingTags()
    plan = member.format.make_plan(asked(thinking=thinking))
    thought = "Let me see:\n<x>" if thinks else ""
    marked = f"{thinking.open_tag}\n{thought}\n{thinking.close_tag}\n\n" if thinks else ""
    text = marked + member.write(case)
    assert read(plan, cut(text, places)) == expected(replaced(case, thought))


def replaced(case: Said, thought: str) -> Said:
    return Said(case.name, case.text, case.calls, thought)


@pytest.mark.demand("llamacpp.text_reasoning_argument_deltas")
@over_members
def test_an_answer_that_is_cut_has_no_call_that_is_not_whole(member: Member) -> None:
    plan = member.format.make_plan(asked())
    for case in fitting(member, calling=True):
        text = member.write(case)
        for end in range(len(text)):
            reader = plan.make_reader()
            found = heard([*reader.feed(text[:end]), *reader.close()]).calls
            whole = found[:-1] if reader.inside_call else found
            assert whole == case.calls[: len(whole)]


@over_members
@given(st.text(alphabet=st.sampled_from(list('{}[]"\\:,<>|/ \nabtool_cal｜▁1')), max_size=60))
def test_any_text_is_read_or_refused(member: Member, text: str) -> None:
    reader: ModelTextReader = member.format.make_plan(asked()).make_reader()
    try:
        found = heard([*reader.feed(text), *reader.close()])
    except TextFormatError:
        return
    if not found.calls:
        assert "".join(found.text.split()) in "".join(text.split()) or not member.talks
