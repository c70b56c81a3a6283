"""A flow as a picture: Mermaid's text and SVG."""

import itertools
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.plugins.flows.diagram import DiagramEdge, build_diagram, compute_layout, render_flow_svg, render_mermaid
from rightseat.plugins.plugin import Flow, Step
from tests.kit.rounds import limit_rounds
from tests.unit.plugins.flows.step_runs import make_flow

NAME = "{http://www.w3.org/2000/svg}"
GUIDE = make_flow(
    Step(name="start", kind="api", params={"endpoint": "GET /api/test"}, next="flow_choice", retry=2),
    Step(
        name="flow_choice",
        kind="choice",
        params={
            "instruction": "返回值是否为Markdown报告？",
            "choices": [
                {"step": "report_gen", "description": "返回值不是Markdown格式"},
                {
                    "step": "start",
                    "when": {"all": [{"path": "start.n", "above": 3}, {"not": {"path": "data", "is": "empty"}}]},
                },
                {"step": "end"},
            ],
        },
    ),
    Step(
        name="report_gen", kind="llm", next="end", confirm=True, on_error=Step(name="report_gen.on_error", kind="none")
    ),
    Step(name="end", kind="none"),
    on_error=Step(name="on_error", kind="llm"),
    name="guide",
)


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
def test_every_step_and_every_way_is_there() -> None:
    drawn = build_diagram(GUIDE)
    assert [box.name for box in drawn.nodes] == [
        "start",
        "flow_choice",
        "report_gen",
        "end",
        "on_error",
        "report_gen.on_error",
    ]
    assert set(drawn.edges) == {
        DiagramEdge("start", "flow_choice"),
        DiagramEdge("flow_choice", "report_gen", "返回值不是Markdown格式"),
        DiagramEdge("flow_choice", "start", "start.n above 3 and not (data is empty)"),
        DiagramEdge("flow_choice", "end", "else"),
        DiagramEdge("report_gen", "end"),
        DiagramEdge("start", "on_error", "on error of any step", True),
        DiagramEdge("report_gen", "report_gen.on_error", "on error", True),
    }
    titles = {box.name: (box.title, box.detail) for box in drawn.nodes}
    assert titles["start"] == ("start (api)", "GET /api/test, retry 2")
    assert titles["report_gen"] == ("report_gen (llm)", "asks first")


def test_an_end_that_is_only_named_is_drawn() -> None:
    drawn = build_diagram(make_flow(Step(name="start", kind="llm", next="end")))
    assert [box.name for box in drawn.nodes] == ["start", "end"]


@pytest.mark.parametrize(
    ("kind", "params", "detail"),
    [
        ("parallel", {"branches": {"a": {}, "b": {}}}, "at once: a, b"),
        ("loop", {"over": "{start.hosts}", "steps": []}, "for each of {start.hosts}"),
        ("loop", {"until": {"path": "round", "above": 3}, "steps": []}, "until round above 3"),
        ("flow", {"flow": "other/one"}, "other/one"),
    ],
)
def test_what_a_step_does_is_said(kind: str, params: dict[str, object], detail: str) -> None:
    [box] = build_diagram(make_flow(Step(name="start", kind=kind, params=params))).nodes
    assert box.detail == detail


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
def test_mermaid() -> None:
    text = render_mermaid(GUIDE)
    assert text.startswith("flowchart TD\n")
    assert '    s0["start (api)<br/>GET /api/test, retry 2"]\n' in text
    assert '    s1{"flow_choice (choice)<br/>返回值是否为Markdown报告？"}\n' in text
    assert '    s3(["end"])\n' in text
    assert '    s1 -->|"else"| s3\n' in text
    assert '    s0 -.->|"on error of any step"| s4\n' in text


def test_no_words_of_a_flow_are_read_as_the_pictures() -> None:
    evil = '"]; click s0 "javascript:alert(1)" <script>&amp;{x}|\x00\u202e'
    made = make_flow(Step(name="start", kind="llm", params={"instruction": evil}), name=evil)
    [line] = [one for one in render_mermaid(made).splitlines() if "s0" in one]
    inner = line[line.index('["') + 2 : -2]
    assert not set(inner.replace("<br/>", "")) & set('"<>[]{}|')
    root = ET.fromstring(render_flow_svg(made))
    assert {one.tag for one in root.iter()} <= {
        f"{NAME}{name}" for name in ("svg", "title", "style", "defs", "marker", "path", "g", "rect", "text")
    }
    assert "javascript:alert(1)" in "".join(root.itertext())


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
def test_the_svg_shows_all_of_it() -> None:
    root = ET.fromstring(render_flow_svg(GUIDE))
    words = " ".join(one.text or "" for one in root.iter(f"{NAME}text"))
    for part in ("start (api)", "GET /api/test, retry 2", "返回值是否为Markdown报告？", "else", "on error"):
        assert part in words
    arrows = [one for one in root.iter(f"{NAME}path") if one.get("marker-end")]
    assert len(arrows) == 7
    assert sum("dotted" in one.get("class", "") for one in arrows) == 2


def test_the_same_flow_is_the_same_picture() -> None:
    assert render_flow_svg(GUIDE) == render_flow_svg(GUIDE)


@st.composite
def random_flows(draw: st.DrawFn) -> Flow:
    names = ["start", *draw(st.lists(st.text(min_size=1, max_size=30), max_size=12, unique=True))]
    targets = st.sampled_from([*dict.fromkeys(names), "end"])
    steps = []
    for name in dict.fromkeys(names):
        ways = draw(st.lists(targets, max_size=3))
        params = {"choices": [{"step": one, "description": draw(st.text(max_size=40))} for one in ways]}
        after = draw(st.none() | targets)
        steps.append(Step(name=name, kind="choice" if ways else "llm", params=params, next=after))
    return make_flow(*steps)


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
@given(random_flows())
@settings(max_examples=limit_rounds(60), deadline=None)
def test_any_flow_has_a_picture_without_overlaps(made: Flow) -> None:
    ET.fromstring(render_flow_svg(made))
    drawn = compute_layout(build_diagram(made))
    for one, other in itertools.combinations(drawn.nodes, 2):
        apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2
        apart_y = one.y + one.height <= other.y or other.y + other.height <= one.y
        assert apart_x or apart_y, (one.name, other.name)
    for spot in drawn.nodes:
        assert spot.x - spot.width / 2 >= 0
        assert spot.x + spot.width / 2 <= drawn.width
        assert spot.y >= 0
        assert spot.y + spot.height <= drawn.height
    for line in drawn.edges:
        if not line.is_back_edge:
            assert all(one.rank < two.rank for one, two in itertools.pairwise(line.nodes))
    assert len(drawn.edges) == len(build_diagram(made).edges)
