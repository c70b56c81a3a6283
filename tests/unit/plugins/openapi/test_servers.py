"""Where an API is: several servers, variables, and addresses that lead nowhere."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.plugin import Operation
from tests.unit.plugins.folders import find_problem, load_operation, load_plugin, make_api_document


def list_urls(operation: Operation) -> list[str]:
    return [server.url for server in operation.servers]


@pytest.mark.demand("plugins.several_servers_variables")
def test_several_servers_with_variables(tmp_path: Path) -> None:
    servers = [
        {
            "url": "https://{region}.example.com:{port}/{base}/",
            "description": "Main",
            "variables": {
                "region": {"enum": ["eu", "us"], "default": "eu"},
                "port": {"enum": [8443, 443]},
                "base": {"default": "v1"},
            },
        },
        {"url": "http://other.example.com"},
    ]
    found = load_operation(tmp_path, make_api_document(servers=servers))
    assert list_urls(found) == ["https://eu.example.com:8443/v1", "http://other.example.com"]
    assert found.servers[0].description == "Main"


@pytest.mark.demand("plugins.several_servers_variables")
def test_the_nearest_servers_count(tmp_path: Path) -> None:
    document = make_api_document()
    item = document["paths"]["/hosts"]
    item["servers"] = [{"url": "https://path.example.com"}]
    item["post"] = {"description": "Writes.", "servers": [{"url": "https://operation.example.com"}]}
    document["paths"]["/other"] = {"get": {"description": "Another."}}
    found = {one.id: list_urls(one) for one in load_plugin(tmp_path, document).operations}
    assert found == {
        "GET /hosts": ["https://path.example.com"],
        "POST /hosts": ["https://operation.example.com"],
        "GET /other": ["https://api.example.com"],
    }


@pytest.mark.parametrize("servers", ["https://one.example.com", {"url": "https://one.example.com"}])
def test_one_that_is_no_list(tmp_path: Path, servers: Any) -> None:
    found = load_plugin(tmp_path, make_api_document(servers=servers))
    assert list_urls(found.operations[0]) == ["https://one.example.com"]
    assert find_problem(found, "no list").gravity == "warning"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("/api", "relative"),
        ("api.example.com", "relative"),
        ("http://example.com:port/x", "valid host and port"),
        ("http://[::1", "valid host and port"),
        ("ftp://example.com", "no http address"),
        ("file:///etc/passwd", "no http address"),
        ("http://user:pw@example.com", "belong into plugin.json's auth"),
        ("http:///x", "names no host"),
        ("http://exa mple.com", "names no host"),
        ("http://example.com\\@evil.example", "names no host"),
        ("https://example.com/x?y=1", "query or a fragment"),
        ("https://{host}/x", "{host} of the address has no value"),
        ("", "relative"),
    ],
)
def test_an_address_that_leads_nowhere_is_told(tmp_path: Path, url: str, words: str) -> None:
    found = load_plugin(tmp_path, make_api_document(servers=[{"url": url}, {"url": "https://good.example.com"}]))
    assert list_urls(found.operations[0]) == ["https://good.example.com"]
    told = [one for one in found.problems if words in one.what]
    assert [one.gravity for one in told] == ["error"]
    assert told[0].key.startswith("servers[0]")
    assert "pw" not in str(told[0])


@pytest.mark.parametrize("servers", [None, [], 7])
def test_no_server_at_all_is_told_once(tmp_path: Path, servers: Any) -> None:
    document = make_api_document(servers=servers)
    document["paths"]["/other"] = {"get": {"description": "Another one."}}
    found = load_plugin(tmp_path, document)
    assert [operation.servers for operation in found.operations] == [(), ()]
    assert "server" in find_problem(found, "names no server").fix
