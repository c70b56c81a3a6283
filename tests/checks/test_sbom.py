"""The bill of materials: the essentials of CycloneDX, every hash of the lock, the same bytes each time."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from checks import sbom

PURL = re.compile(r"pkg:(pypi|npm)/[a-z0-9.%_/-]+@[0-9A-Za-z.+!-]+", re.IGNORECASE)
DIGEST_LENGTHS = {"SHA-256": 64, "SHA-512": 128}
RUN = {"uvicorn", "uvloop", "msgspec", "echarts", "react"}


@pytest.fixture(scope="module")
def bom() -> dict[str, Any]:
    return sbom.make_bom()


@pytest.mark.demand("security.bill_of_materials")
def test_it_has_the_form_of_cyclonedx(bom: dict[str, Any]) -> None:
    assert (bom["bomFormat"], bom["specVersion"], bom["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bom["serialNumber"])
    own = bom["metadata"]["component"]
    assert (own["type"], own["name"], own["licenses"]) == ("application", "rightseat", [{"expression": "Apache-2.0"}])
    refs = [component["bom-ref"] for component in bom["components"]]
    assert len(refs) == len(set(refs))
    for entry in bom["dependencies"]:
        assert {entry["ref"], *entry["dependsOn"]} <= {own["bom-ref"], *refs}
    assert {entry["ref"] for entry in bom["dependencies"]} >= {own["bom-ref"]}


@pytest.mark.demand("security.bill_of_materials")
def test_each_component_has_what_identifies_it(bom: dict[str, Any]) -> None:
    for component in bom["components"]:
        assert component["type"] == "library"
        assert PURL.fullmatch(component["purl"]), component["purl"]
        assert component["scope"] in ("required", "optional", "excluded")
        assert component["hashes"], component["name"]
        for digest in component["hashes"]:
            assert re.fullmatch(f"[0-9a-f]{{{DIGEST_LENGTHS[digest['alg']]}}}", digest["content"])
        licences = component.get("licenses", [])
        # An expression stands alone.
        assert len(licences) == 1 or all("license" in licence for licence in licences)
    # What is not installed on this platform has no metadata here.
    known = [component for component in bom["components"] if "licenses" in component]
    assert len(known) > 0.9 * len(bom["components"])


@pytest.mark.demand("security.bill_of_materials")
def test_what_a_server_installs_is_in_it(bom: dict[str, Any]) -> None:
    scopes = {component["name"]: component["scope"] for component in bom["components"]}
    assert {name for name in RUN if scopes.get(name) == "required"} == RUN
    assert (scopes["psycopg"], scopes["cryptography"], scopes["hatchling"]) == ("optional", "optional", "excluded")
    assert "pytest" not in scopes
    # npm has packages of the same names.
    python = [component for component in bom["components"] if component["purl"].startswith("pkg:pypi/")]
    hashes = {component["name"]: component["hashes"] for component in python}
    run = sbom.read_lock(sbom.ROOT / "requirements" / "run.txt")
    # `editables` serves a developer's folder and is in no release.
    assert run.keys() - scopes.keys() == {"editables"}
    for name in run.keys() & scopes.keys():
        assert [digest["content"] for digest in hashes[name]] == list(run[name].hashes), name


@pytest.mark.demand("security.bill_of_materials")
def test_it_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = (sbom.write_bom(tmp_path / name).read_bytes() for name in ("a", "b"))
    assert first == second
    assert json.loads(first)["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000001")
    third = json.loads(sbom.write_bom(tmp_path / "c").read_bytes())
    assert third["serialNumber"] != json.loads(first)["serialNumber"]


def test_it_names_no_registry(bom: dict[str, Any]) -> None:
    assert "://" not in json.dumps(bom)


def test_another_version_than_the_locked_one_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"uvicorn .* is installed, 0\.0\.1 is locked"):
        sbom.find_distribution(sbom.LockedPackage("uvicorn", "0.0.1", ()))


def test_a_package_that_no_lock_has_is_refused() -> None:
    with pytest.raises(SystemExit, match="make lock"):
        sbom.make_python_components({"required": ["nowhere>=1"]}, {})


def test_a_package_in_two_versions_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("a==1 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "0" * 64 + "\nA==2\n")
    with pytest.raises(SystemExit, match="a is locked twice"):
        sbom.read_lock(lock)
