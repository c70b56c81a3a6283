"""The example with pandas of docs/artifacts.md, with real pandas beside rightseat."""

import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.test_artifacts import ANSWER, get_block, load_tool, read_agui_events, read_openai_text, read_screen
from tests.peers.prerequisites import require

pytestmark = pytest.mark.peers


@pytest.mark.demand("openbb.docs_artifacts_page")
async def test_the_page_shows_what_a_data_frame_becomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_driven: Callable[[str, str], None]
) -> None:
    home = str(require("dataframes"))
    packages = sysconfig.get_path("purelib", vars={"base": home, "platbase": home})
    # Last, so that nothing of ours is replaced.
    monkeypatch.setattr(sys, "path", [*sys.path, packages])
    tool = load_tool("prices", tmp_path, monkeypatch)
    record_driven("dataframes", f"pandas {sys.modules['pandas'].__version__}")
    assert await read_screen("prices", tool) == get_block("prices", "text", 0)
    table, chart = [event["value"] for event in await read_agui_events("prices", tool)]
    assert table["content"][1] == {"day": "2026-03-03T00:00:00", "close": None, "volume": 12}
    assert chart["content"]["data"] == table["content"]
    text = await read_openai_text("prices", tool)
    assert "| 2026-03-04T00:00:00 | 41.75 | 7 |" in text
    assert text.endswith(ANSWER)
