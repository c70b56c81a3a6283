"""The check that finds code written twice."""

import pytest

from checks.duplicates import code_lines, find_duplicates, read_lines
from checks.files import ROOT

BODY = "\n".join(f"    step_{number}()" for number in range(9))
ONE = f'"""One."""\n\nimport os\n\n\ndef one(a: int) -> None:\n    """Do."""\n    # First.\n{BODY}\n'
OTHER = f"def other(\n    b: int,\n) -> None:\n    begin()\n\n{BODY.replace('step_4()', 'step_4()  ')}\n    end()\n"


def found(*sources: str) -> list[str]:
    return [str(one) for one in find_duplicates({str(at): code_lines(text) for at, text in enumerate(sources)})]


def test_nine_equal_lines_are_found_whatever_stands_around_them() -> None:
    assert found(ONE, OTHER) == ["0:9 and 1:6 share 9 lines"]


def test_eight_equal_lines_are_allowed() -> None:
    assert found(ONE, OTHER.replace("step_8", "step_nine")) == []


def test_a_run_is_found_within_one_file_but_not_over_itself() -> None:
    assert found(ONE + OTHER) == ["0:9 and 0:23 share 9 lines"]
    assert found("def one() -> None:\n" + "    step()\n" * 12) == []


def test_imports_signatures_and_docstrings_do_not_count() -> None:
    signature = "@d\ndef one(\n    a: int,\n) -> None:\n"
    text = f"import a\nfrom b import (\n    c,\n)\n\n\n{signature}    '''Do.\n\n    More.\n    '''\n    e()\n"
    assert [line.text for line in code_lines(text)] == ["@d", "e()"]


@pytest.mark.io
def test_models_and_agents_share_none() -> None:
    files = read_lines(ROOT)
    assert "src/rightseat/models/openai/client.py" in files
    assert [str(one) for one in find_duplicates(files)] == []
