"""What a package index shows of a release: version, classifiers, licence, and a description whose links work."""

from __future__ import annotations

import email.message
import email.parser
import re
import runpy
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

import rightseat
from tests.kit.cases import each_case
from tests.package.wheels import ROOT, build_wheel

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
rewrite_links = runpy.run_path(str(ROOT / "hatch_build.py"))["rewrite_links"]
SOURCE = "https://code.example/rightseat"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> email.message.Message:
    with zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel"), with_pages=False)) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.parser.Parser().parsestr(archive.read(name).decode())


def list_links(text: str) -> Iterator[str]:
    """The targets of links and pictures as a renderer sees them, those of HTML too."""
    for token in MarkdownIt("commonmark").parse(text):
        for inner in (token, *(token.children or ())):
            yield from (str(inner.attrs[name]) for name in ("href", "src") if name in inner.attrs)
            if inner.type in {"html_block", "html_inline"}:
                yield from re.findall(r'(?:href|src)="([^"]+)"', inner.content)


@pytest.mark.demand("release.version")
def test_the_version_is_told_everywhere_alike() -> None:
    version = PROJECT["version"]
    assert rightseat.__version__ == version
    manifest = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8"))
    assert [image["newTag"] for image in manifest["images"]] == [version]
    assert f"/rightseat:{version}\n" in (ROOT / "docs" / "deploy-cluster.md").read_text(encoding="utf-8")


@pytest.mark.demand("release.classifiers")
def test_the_classifiers_are_the_matrix_of_the_tests() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    versions = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert versions == matrix["python"]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    systems = [name for name in PROJECT["classifiers"] if name.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    assert all(runner.startswith("ubuntu-") for runner in matrix["runner"])


@pytest.mark.io
@pytest.mark.slow
@pytest.mark.demand("release.metadata")
def test_the_metadata_says_what_it_is(metadata: email.message.Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("rightseat", PROJECT["version"])
    assert (metadata["License-Expression"], metadata.get_all("License-File")) == ("Apache-2.0", ["LICENSE"])
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata.get_all("Classifier") == sorted(PROJECT["classifiers"])
    assert set(metadata.get_all("Provides-Extra") or ()) == set(PROJECT["optional-dependencies"])
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.io
@pytest.mark.slow
@pytest.mark.demand("release.metadata")
def test_no_link_of_the_description_leads_nowhere(metadata: email.message.Message) -> None:
    description = str(metadata.get_payload())
    assert description.startswith("# rightseat\n")
    assert "```toml\n# rightseat.toml\n" in description
    assert [link for link in list_links(description) if not link.startswith(("https://", "http://"))] == []


@each_case(
    ("text", "with_source", "without"),
    [
        ("see [a page](docs/a.md#part)", f"see [a page]({SOURCE}/blob/v1/docs/a.md#part)", "see a page"),
        ("see [`code`](docs/a.md)", f"see [`code`]({SOURCE}/blob/v1/docs/a.md)", "see `code`"),
        ("see [below](#below)", f"see [below]({SOURCE}/blob/v1/README.md#below)", "see below"),
        ("![a picture](docs/a.png)", f"![a picture]({SOURCE}/raw/v1/docs/a.png)", ""),
        ("[![a](b.svg)](c.md)", f"[![a]({SOURCE}/raw/v1/b.svg)]({SOURCE}/blob/v1/c.md)", ""),
        ('<img src="b.svg" alt="b">', f'<img src="{SOURCE}/raw/v1/b.svg" alt="b">', ""),
        ("[x](https://x.example/y)", "[x](https://x.example/y)", "[x](https://x.example/y)"),
        (
            "```md\n[a](b.md)\n```\n[a](b.md)",
            f"```md\n[a](b.md)\n```\n[a]({SOURCE}/blob/v1/b.md)",
            "```md\n[a](b.md)\n```\na",
        ),
    ],
)
def test_links_are_rewritten(text: str, with_source: str, without: str) -> None:
    assert rewrite_links(text, SOURCE, "v1") == with_source
    assert rewrite_links(text) == without


def test_every_relative_link_of_the_readme_is_found() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    addresses = [link for link in list_links(rewrite_links(text, SOURCE, "v1")) if link.startswith(SOURCE)]
    relative = [link for link in list_links(text) if not re.match(r"[a-z]+:", link)]
    assert len(addresses) == len(relative) > 10
    for address in addresses:
        path = address.removeprefix(f"{SOURCE}/").split("/", 2)[2].partition("#")[0]
        assert Path(ROOT / path).exists(), path
