"""What docs/howto tells operators to type: commands and options exist, files are those of deploy/, metrics are ours.

tests/docs/test_docs.py reads every rightseat.toml of these pages; tests/peers/test_proxies.py runs nginx and Caddy.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_docs import ROOT, find_blocks
from tests.kit.cases import each_case
from tests.unit.server.manifests import get_manifest
from tests.unit.server.test_dashboard import find_metrics, list_labels

pytestmark = pytest.mark.demand("server.how_to")

PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
REFERENCE = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
TOPICS = ("proxy", "kubernetes", "backup", "upgrade", "observe", "cost-limits", "air-gapped")


def list_commands(page: Path) -> list[list[str]]:
    """The words of each `rightseat …` line, also of one that another program runs."""
    lines = [line for block in find_blocks(page, "text") for line in block.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [
        line[line.index("rightseat") :] for line in words if "rightseat" in line and line[0] in {"rightseat", "kubectl"}
    ]


def find_section(words: list[str]) -> str:
    """The part of the reference that describes a command; empty where there is none."""
    names = [word for word in words[1:3] if re.fullmatch(r"[a-z]+", word)]
    for count in (2, 1):
        heading = f"\n## rightseat {' '.join(names[:count])}\n"
        if len(names) >= count and heading in REFERENCE:
            return REFERENCE.partition(heading)[2].partition("\n## ")[0]
    return ""


def test_there_is_a_page_for_each_task() -> None:
    assert {page.stem for page in PAGES} == {*TOPICS, "index"}
    index = (ROOT / "docs" / "howto" / "index.md").read_text("utf-8")
    assert [topic for topic in (*TOPICS, "../scale", "../deploy-cluster") if f"({topic}.md)" not in index] == []


@each_case("page", PAGES)
def test_commands_and_options_exist(page: Path) -> None:
    for words in list_commands(page):
        if words[1:2] == ["-n"] or words[1].startswith(("delete", "rollout", "exec", "apply")):
            continue
        section = find_section(words)
        assert section, words
        options = [word for word in words if word.startswith("--")]
        assert [option for option in options if option not in section] == [], words


def test_some_commands_were_found() -> None:
    assert sum(len(list_commands(page)) for page in PAGES) > 10


@each_case("page", PAGES)
def test_files_of_the_repository_exist(page: Path) -> None:
    named = re.findall(r"\bdeploy/[\w./-]*\w", page.read_text("utf-8"))
    # `exec deploy/rightseat` is kubectl's word for a Deployment.
    assert [name for name in named if name != "deploy/rightseat" and not (ROOT / name).exists()] == []


def load_yaml(name: str) -> list[Any]:
    return [yaml.safe_load(block) for block in find_blocks(ROOT / "docs" / "howto" / f"{name}.md", "yaml")]


def test_the_ingress_leads_to_the_service() -> None:
    [ingress] = load_yaml("kubernetes")
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    service = get_manifest("Service")
    assert backend["name"] == service["metadata"]["name"]
    assert backend["port"]["name"] in [port["name"] for port in service["spec"]["ports"]]
    assert ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-buffering"] == "off"


def test_the_alerts_ask_for_metrics_that_exist() -> None:
    scrape, alerts = load_yaml("observe")
    assert scrape["scrape_configs"][0]["metrics_path"] == "/metrics"
    rules = alerts["groups"][0]["rules"]
    known = list_labels()
    for name in [name for rule in rules for name in find_metrics(rule["expr"])]:
        assert re.sub(r"_(total|bucket)$", "", name) in known
    assert len(rules) == 6


def test_the_lines_that_the_proxy_page_explains_are_in_the_files() -> None:
    page = (ROOT / "docs" / "howto" / "proxy.md").read_text("utf-8")
    nginx, caddy = ((ROOT / "deploy" / name).read_text("utf-8") for name in ("nginx.conf", "Caddyfile"))
    explained = [
        code for row in re.findall(r"^\| (`.*?) \| ", page, re.MULTILINE) for code in re.findall(r"`([^`]+)`", row)
    ]
    assert len(explained) > 6
    assert [code for code in explained if code not in nginx] == []
    assert [code for code in ("flush_interval -1", "read_timeout 1h") if code not in caddy or code not in page] == []
