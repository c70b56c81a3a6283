"""`each_case` runs every case, names each that fails, and is one test without fixtures."""

import inspect

import pytest

from tests.kit.cases import each_case

seen: list[int] = []


@each_case("number, double", [(1, 2), (2, 4), (3, 6)])
def test_every_case_is_run(number: int, double: int) -> None:
    seen.append(number)
    assert number * 2 == double


def test_no_case_was_left_out() -> None:
    seen.clear()
    test_every_case_is_run()
    assert seen == [1, 2, 3]


def test_each_failing_case_is_named() -> None:
    @each_case("number", range(5))
    def check(number: int) -> None:
        if number == 4:
            raise ValueError("four")
        assert number % 2 == 0, "odd"

    with pytest.raises(pytest.fail.Exception) as failure:
        check()
    message = str(failure.value)
    assert message.startswith("3 of 5 cases:\n- number=1\n  AssertionError, line ")
    assert "- number=3\n" in message
    assert "ValueError, line" in message
    assert "number=0" not in message


def test_its_arguments_are_no_fixtures_and_its_marks_are_kept() -> None:
    @each_case("number", [1])
    @pytest.mark.slow
    def check(number: int) -> None:
        pass

    assert not inspect.signature(check).parameters
    assert [mark.name for mark in vars(check)["pytestmark"]] == ["slow"]


@each_case("number, double", [pytest.param(1, 2, id="one"), (2, 4)])
def test_a_param_is_its_values(number: int, double: int) -> None:
    assert number * 2 == double


@each_case("number", [pytest.param(1), 2])
def test_a_param_of_one_value_is_that_value(number: int) -> None:
    assert number in (1, 2)


def test_a_case_with_marks_is_refused() -> None:
    with pytest.raises(AssertionError, match="parametrized as usual"):
        each_case("number", [pytest.param(1, marks=pytest.mark.long)])


def test_a_table_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="proves nothing"):
        each_case("number", [])
