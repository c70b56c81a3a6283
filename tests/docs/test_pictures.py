"""The pictures of README that scripts make: the bench's figures, and the first commands in a terminal."""

from __future__ import annotations

import re
import socket
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bench import picture
from bench.picture import PICTURE as BENCH_PICTURE
from tests.docs.test_docs import ROOT
from tests.peers.install import CURL
from tests.peers.prerequisites import require

README = (ROOT / "README.md").read_text("utf-8")
RECORDING = ROOT / "docs" / "img" / "first-run.svg"
SVG = "{http://www.w3.org/2000/svg}"
COLUMN_WIDTH = 12.2
FACTS = (
    "on 2026-01-02; machine x86_64, 8 cores; openbb 2.2.0 with openai 3; litellm 1.2.3; copilotkit 1.75.0 on Node 20; "
    "copilotkit-gql 1.10.6 on Node 20; others' share of the CPU 1 %"
)
PAGE = """
<!-- written by the bench -->
Measured: {facts}.

| measure | peer | unit | rounds | median | × floor | limit |  |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}
<!-- end of what the bench writes -->
"""
FIGURES = {
    "splice": "30.0",
    "rightseat openai": "100.0",
    "rightseat openbb": "90.4",
    "rightseat copilotkit": "120.0",
    "rightseat graphql": "110.0",
    "litellm": "2000.0",
    "openbb": "1000.0",
    "copilotkit": "900.0",
    "copilotkit-gql": "800.0",
}


def make_page(figures: dict[str, str]) -> str:
    rows = [f"| {picture.MEASURE} | {peer} | µs | 1.0 | {median} |  |  |  |" for peer, median in figures.items()]
    return PAGE.format(facts=FACTS, rows="\n".join(rows))


def list_texts(svg: str) -> list[str]:
    return ["".join(element.itertext()).replace("\xa0", " ") for element in ET.fromstring(svg).iter(f"{SVG}text")]


def list_widths(svg: str, style: str) -> list[float]:
    return [float(bar.attrib["width"]) for bar in ET.fromstring(svg).iter(f"{SVG}rect") if bar.get("class") == style]


@pytest.mark.demand("release.bench_picture")
def test_the_bench_picture_is_that_of_the_figures() -> None:
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")
    drawn = picture.draw_picture(picture.read_figures(page))
    assert BENCH_PICTURE.read_text("utf-8") == drawn, "run `python -m bench.picture`"
    assert "](docs/img/bench.svg)" in README


@pytest.mark.demand("release.bench_picture")
def test_bars_are_as_long_as_the_figures() -> None:
    svg = picture.draw_picture(picture.read_figures(make_page(FIGURES)))
    own, peers = list_widths(svg, "own"), list_widths(svg, "peer")
    longest = max(peers)
    assert [round(2000 * width / longest) for width in own] == pytest.approx([100, 90, 120, 110], abs=1)
    assert [round(2000 * width / longest) for width in peers] == pytest.approx([2000, 1000, 900, 800], abs=1)
    texts = list_texts(svg)
    assert {"100 µs rightseat", "2,000 µs", "OpenAI clients · LiteLLM's proxy 1.2.3"} <= set(texts)
    assert "OpenBB · its example agent with openbb-ai 2.2.0" in texts
    assert texts[-2:] == [
        "Dotted: 30 µs to copy the bytes without reading them.",
        "Measured on 2026-01-02, x86_64, 8 cores.",
    ]


@pytest.mark.demand("release.bench_picture")
def test_a_figure_that_is_not_there_is_said() -> None:
    figures = {peer: median for peer, median in FIGURES.items() if peer != "litellm"}
    with pytest.raises(ValueError, match=r"has no 'CPU per paced token' of: litellm"):
        picture.read_figures(make_page(figures))


@pytest.mark.demand("release.bench_picture", "release.terminal_recording")
@pytest.mark.parametrize("path", [BENCH_PICTURE, RECORDING], ids=lambda path: path.stem)
def test_a_picture_fetches_nothing_and_runs_nothing(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg|127\.0\.0\.1)\S+", text) == []
    assert re.findall(r"url\((?!#)|@import|@font-face|<script|<image|<use|\bhref|\bon\w+=", text) == []


@pytest.mark.demand("release.bench_picture")
def test_the_bench_picture_has_both_themes_and_text_for_a_phone() -> None:
    text = BENCH_PICTURE.read_text("utf-8")
    style = ET.fromstring(text).findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme: dark" in style
    sizes = [int(size) for size in re.findall(r"(\d+)px", style)]
    # A README is about 350 pixels wide on a phone of 390.
    assert min(sizes) * 350 / picture.WIDTH >= 11


def read_lines(svg: str) -> list[str]:
    """Return the lines of a recording as a terminal shows them."""
    lines: dict[str, str] = {}
    for element in ET.fromstring(svg).iter(f"{SVG}text"):
        if "clip-path" in element.attrib:
            line, column = lines.get(element.attrib["y"], ""), round(float(element.attrib["x"]) / COLUMN_WIDTH)
            lines[element.attrib["y"]] = line.ljust(column) + "".join(element.itertext()).replace("\xa0", " ")
    return list(lines.values())


def list_labels(svg: str) -> list[str]:
    """Return the commands, the labels of the start-up summary, the checks of the report and its verdict."""
    label = re.compile(r"\$ (\w+)|  ([a-z]+) |✓ (\S.+?)  |(Everything works)\.")
    return [match[match.lastindex or 0] for line in read_lines(svg) if (match := label.match(line))]


@pytest.mark.demand("release.terminal_recording")
def test_the_recording_names_no_machine() -> None:
    lines = read_lines(RECORDING.read_text("utf-8"))
    # Routes of the server are no folders.
    words = "\n".join(re.sub(r"(GET|POST) \S+", "", line) for line in lines)
    assert re.findall(r"(?<![\w:/.~])/\w[\w.-]*/\S*", words) == []
    assert socket.gethostname() not in words
    assert "](docs/img/first-run.svg)" in README


@pytest.mark.peers
@pytest.mark.demand("release.terminal_recording")
@pytest.mark.timeout(300)
def test_the_recording_is_what_the_commands_print(tmp_path: Path) -> None:
    """Run anew with the scripted demo, on a free port: the same commands, and the same labels in what they print."""
    require(CURL)
    # Only where there are terminals as on Unix.
    from tests.peers import recording

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = recording.build_environment(tmp_path, RIGHTSEAT_MODEL="scripted:demo")
    commands = recording.record_session(tmp_path, env, port)
    drawn = recording.draw_recording(commands)
    assert str(tmp_path) not in drawn
    labels = list_labels(drawn)
    assert {"rightseat", "curl", "model", "page", "copilotkit", "openai: chat, whole", "Everything works"} <= set(
        labels
    )
    assert list_labels(RECORDING.read_text("utf-8")) == labels, "run `make recording`"
