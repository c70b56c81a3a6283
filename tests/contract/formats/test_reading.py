"""Every format reads the same out of a text, however it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.tools.text_calls.reader import ModelTextReader, TextFormatError
from tests.contract.formats.cases import CASES, FormatCase
from tests.contract.formats.checking import (
    list_cases,
    make_context,
    make_expected,
    over_members,
    read_answer,
    split_text,
    supports_case,
)
from tests.contract.formats.members import FormatMember
from tests.contract.models.cases import collect_answer


@pytest.mark.demand("llamacpp.format_gives_same_fragments")
@over_members
def test_the_same_for_every_chunking(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context())
    for case in list_cases(member):
        text = member.write(case)
        assert read_answer(plan, [text]) == make_expected(case)
        assert read_answer(plan, text) == make_expected(case)
        for place in range(len(text)):
            assert read_answer(plan, [text[:place], text[place:]]) == make_expected(case)


@pytest.mark.demand("llamacpp.format_gives_same_fragments")
@over_members
@given(st.sampled_from(CASES), st.lists(st.integers(0, 10_000), max_size=12), st.booleans())
def test_the_same_for_any_chunking(member: FormatMember, case: FormatCase, places: list[int], thinks: bool) -> None:
    if not supports_case(member, case):
        return
    thinking = member.thinking if thinks else ThinkingTags()
    plan = member.format.make_plan(make_context(thinking=thinking))
    thought = "Let me see:\n<x>" if thinks else ""
    marked = f"{thinking.open_tag}\n{thought}\n{thinking.close_tag}\n\n" if thinks else ""
    text = marked + member.write(case)
    assert read_answer(plan, split_text(text, places)) == make_expected(replace_reasoning(case, thought))


def replace_reasoning(case: FormatCase, reasoning: str) -> FormatCase:
    return FormatCase(case.name, case.text, case.calls, reasoning)


@pytest.mark.demand("llamacpp.text_reasoning_argument_deltas")
@over_members
def test_an_answer_that_is_cut_has_no_call_that_is_not_whole(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context())
    for case in list_cases(member, with_calls=True):
        text = member.write(case)
        for end in range(len(text)):
            reader = plan.make_reader()
            found = collect_answer([*reader.feed(text[:end]), *reader.close()]).calls
            whole = found[:-1] if reader.inside_call else found
            assert whole == case.calls[: len(whole)]


@over_members
@given(st.text(alphabet=st.sampled_from(list('{}[]"\\:,<>|/ \nabtool_cal｜▁1')), max_size=60))
def test_any_text_is_read_or_refused(member: FormatMember, text: str) -> None:
    reader: ModelTextReader = member.format.make_plan(make_context()).make_reader()
    try:
        found = collect_answer([*reader.feed(text), *reader.close()])
    except TextFormatError:
        return
    if not found.calls:
        assert "".join(found.text.split()) in "".join(text.split()) or not member.allows_plain_text
