"""deploy/grafana-dashboard.json asks only for metrics and labels that /metrics has."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rightseat import Runtime
from rightseat.runtime.metrics import Metrics
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.server.manifests import DEPLOY

pytestmark = pytest.mark.demand("server.dashboard")

DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
ADDED_BY_PROMETHEUS = {"le", "instance", "job"}


def list_labels() -> dict[str, set[str]]:
    """The labels of each metric by its name without a suffix."""
    metrics = vars(Metrics()).values()
    return {metric.name: set(getattr(metric, "labels", ())) for metric in metrics if hasattr(metric, "name")}


def find_metrics(query: str) -> list[str]:
    return re.findall(r"\brightseat_\w+", query)


@pytest.mark.io
async def test_each_metric_is_one_of_the_servers() -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("x")))) as server, RawHttpClient(server.url) as client:
        await client.get("/metrics")
        assert (await client.read_head()).status == 200
        families = list(text_string_to_metric_families((await client.read_body()).decode()))
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    names = {family.name + suffix for family in families for suffix in suffixes[family.type]}
    variables = [
        variable["query"]["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"
    ]
    asked = {name for query in (*QUERIES, *variables) for name in find_metrics(query)}
    assert len(asked) > 12
    assert asked - names == set()


def test_each_label_is_one_of_its_metric() -> None:
    labels = list_labels()
    for query in QUERIES:
        grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
        legend = grouped - ADDED_BY_PROMETHEUS
        bases = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in find_metrics(query)}
        assert all(legend <= labels[base] for base in bases), query


def test_legends_show_labels_that_the_query_keeps() -> None:
    for target in [target for panel in PANELS for target in panel["targets"]]:
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        kept = {label.strip() for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in group.split(",")}
        assert shown <= kept, target


def test_panels_have_ids_and_places_of_their_own() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in DASHBOARD["panels"])
