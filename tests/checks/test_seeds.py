"""docs/seeds.md names every demand and only tests that exist; a row that does not is red."""

import pytest

from checks import seeds
from checks.files import ROOT
from tests.kit.cases import each_case

TEXT = seeds.PAGE.read_text(encoding="utf-8")
TESTS = ROOT / "tests"


def check(text: str) -> list[str]:
    return list(seeds.find_problems(list(seeds.parse_page(text)), TESTS))


@pytest.mark.demand("doctor.seeds_page")
def test_the_page_is_right() -> None:
    assert check(TEXT) == []
    assert seeds.count_states(list(seeds.parse_page(TEXT))).startswith("106 demands: ")


def replace_row(id: str, row: str) -> str:
    lines = [row if line.startswith(f"| {id} |") else line for line in TEXT.splitlines()]
    return "\n".join(line for line in lines if line != "gone")


@pytest.mark.demand("doctor.seeds_page")
@each_case(
    ("text", "problem"),
    [
        (replace_row("1.3", "gone"), "1.3: there is no row of it"),
        (replace_row("1.3", "| 1.3 | a | **met** | `checks/test_seeds.py::test_gone` |"), "there is no test"),
        (replace_row("1.3", "| 1.3 | a | **met** | `checks/test_gone.py::test_gone` |"), "there is no test"),
        (replace_row("1.3", "| 1.3 | a | **met** |  |"), "1.3: no test proves it"),
        (replace_row("1.3", "| 1.3 | a | **otherwise** | `checks/test_seeds.py::check` |"), "1.3: no reason"),
        (replace_row("1.3", "| 1.3 | a | **not yet** |  |"), "1.3: no reason"),
        (
            replace_row("1.3", "| 1.3 | a | **perhaps**: b | `checks/test_seeds.py::test_the_page_is_right` |"),
            "perhaps",
        ),
        (replace_row("1.3", "| 1.3 | a | met | c |"), "cannot be read"),
        (TEXT + "\n| 1.41 | a | **not yet**: b |  |", "1.41: not one of the demands"),
        (TEXT + "\n| 1.3 | a | **not yet**: b |  |", "1.3: 2 rows"),
    ],
)
def test_a_wrong_row_is_red(text: str, problem: str) -> None:
    assert any(problem in found for found in check(text))


def test_not_yet_is_counted() -> None:
    rows = [
        "| 0.1 | a | **not yet**: b |  |",
        "| 0.2 | a | **met** | `checks/test_seeds.py::test_not_yet_is_counted` |",
    ]
    counted = seeds.count_states(list(seeds.parse_page("\n".join(rows))))
    assert counted == "2 demands: 1 met, 0 otherwise, 1 not yet"
