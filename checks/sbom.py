"""`make sbom`: the bill of materials of a release, CycloneDX 1.6 as JSON, from the locks alone.

It lists what a server installs and runs (`required`), what the extras add (`optional`), what only builds it
(`excluded`), and what others made for our pages, each with the hashes of its lock. Licences and dependencies come from
the metadata of the locked environment. The same commit and environment give the same bytes.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "dev.txt"
UNLOCKED_EXTRAS = {"whisper"}
"""Extras that no lock has, because no test installs them: what they bring is not in the document."""
PAGE_LOCK = ROOT / "assets" / "package-lock.json"
LOCKED = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)(.*)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]")
LICENCE_PREFIX = "License :: OSI Approved :: "

Component = dict[str, Any]


@dataclass(frozen=True)
class LockedPackage:
    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def ref(self) -> str:
        """The package URL, which is also the reference inside the document."""
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(path: Path) -> dict[str, LockedPackage]:
    """Read a requirements file with hashes; a package that it has in two versions, by platform, is an error."""
    packages: dict[str, LockedPackage] = {}
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if match := LOCKED.match(line):
            name = canonicalize_name(match[1])
            if name in packages:
                raise SystemExit(f"{path.name}: {name} is locked twice")
            packages[name] = LockedPackage(name, match[2], tuple(sorted(HASH.findall(match[3]))))
    return packages


def find_distribution(package: LockedPackage) -> Distribution | None:
    """Return the installed package; None where this platform does not need it. Another version is an error."""
    try:
        installed = distribution(package.name)
    except PackageNotFoundError:
        return None
    if installed.version != package.version:
        raise SystemExit(f"{package.name} {installed.version} is installed, {package.version} is locked: `make clean`")
    return installed


def list_requirements(installed: Distribution | None, extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """Yield what a package needs on any platform, with these extras of it."""
    for text in (installed.requires or ()) if installed else ():
        requirement = Requirement(text)
        needed_by = set(EXTRA.findall(str(requirement.marker or "")))
        if not needed_by or needed_by & set(extras):
            yield requirement


def collect_packages(wanted: Iterable[Requirement], lock: Mapping[str, LockedPackage]) -> set[str]:
    """Return the names of what is wanted, and of all that it needs."""
    seen: set[tuple[str, frozenset[str]]] = set()
    queue = [(canonicalize_name(item.name), frozenset(item.extras)) for item in wanted]
    while queue:
        entry = queue.pop()
        if entry in seen or entry[0] not in lock:
            continue
        seen.add(entry)
        requirements = list_requirements(find_distribution(lock[entry[0]]), entry[1])
        queue += [(canonicalize_name(item.name), frozenset(item.extras)) for item in requirements]
    return {name for name, _ in seen}


def describe_licences(installed: Distribution | None) -> list[dict[str, Any]]:
    """Return the licences in CycloneDX's shape: an SPDX expression where the package has one, else names."""
    if installed is None:
        return []
    metadata = installed.metadata
    if "License-Expression" in metadata:
        return [{"expression": metadata["License-Expression"]}]
    classifiers = [text for text in metadata.get_all("Classifier") or [] if text.startswith(LICENCE_PREFIX)]
    names = sorted(text.removeprefix(LICENCE_PREFIX) for text in classifiers)
    # The field often has the whole text of a licence; its first line is the name.
    names = names or "".join(metadata.get_all("License") or []).strip().splitlines()[:1]
    return [{"license": {"name": name}} for name in names]


def list_wanted(project: dict[str, Any]) -> dict[str, list[str]]:
    """Return what pyproject.toml names, by the scope that it has in the document."""
    own = canonicalize_name(project["project"]["name"])
    by_extra = project["project"]["optional-dependencies"].items()
    extras = [text for name, texts in by_extra if name not in UNLOCKED_EXTRAS for text in texts]
    return {
        "required": project["project"]["dependencies"],
        "optional": [text for text in extras if canonicalize_name(Requirement(text).name) != own],
        "excluded": project["build-system"]["requires"],
    }


def make_python_components(scopes: dict[str, list[str]], lock: Mapping[str, LockedPackage]) -> list[Component]:
    components: dict[str, Component] = {}
    for scope, texts in scopes.items():
        wanted = [Requirement(text) for text in texts]
        if missing := [item.name for item in wanted if canonicalize_name(item.name) not in lock]:
            raise SystemExit(f"not in {LOCK.name}: {', '.join(missing)}. Run `make lock`")
        for name in collect_packages(wanted, lock) - components.keys():
            components[name] = make_python_component(lock[name], scope)
    return [components[name] for name in sorted(components)]


def make_python_component(package: LockedPackage, scope: str) -> Component:
    licences = describe_licences(find_distribution(package))
    return {
        "type": "library",
        "bom-ref": package.ref,
        "name": package.name,
        "version": package.version,
        "scope": scope,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
        **({"licenses": licences} if licences else {}),
        "purl": package.ref,
    }


def make_page_components(path: Path) -> list[Component]:
    """Make the components of our pages, from npm's lock; a release has them inside the wheel."""
    components: dict[str, Component] = {}
    for place, about in json.loads(path.read_text(encoding="utf-8"))["packages"].items():
        if not place:
            continue
        name = place.rpartition("node_modules/")[2]
        ref = f"pkg:npm/{name.replace('@', '%40')}@{about['version']}"
        algorithm, _, digest = about["integrity"].partition("-")
        components[ref] = {
            "type": "library",
            "bom-ref": ref,
            "name": name,
            "version": about["version"],
            "scope": "required",
            "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
            **({"licenses": [{"expression": about["license"]}]} if "license" in about else {}),
            "purl": ref,
        }
    return [components[ref] for ref in sorted(components)]


def list_dependencies(
    own: Component, wanted: Iterable[str], components: list[Component], lock: Mapping[str, LockedPackage]
) -> list[Component]:
    """List which component needs which; of npm's packages only that our pages have them."""
    refs = {component["name"]: component["bom-ref"] for component in components if "pkg:pypi" in component["purl"]}
    names = {canonicalize_name(Requirement(text).name) for text in wanted}
    direct = [component["bom-ref"] for component in components if component["bom-ref"] not in refs.values()]
    direct += [ref for name, ref in refs.items() if name in names]
    entries = [{"ref": own["bom-ref"], "dependsOn": sorted(direct)}]
    for name, ref in sorted(refs.items()):
        needed = {canonicalize_name(item.name) for item in list_requirements(find_distribution(lock[name]))}
        entries.append({"ref": ref, "dependsOn": sorted(refs[other] for other in needed & refs.keys())})
    return entries


def make_bom(root: Path = ROOT) -> Component:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    about = project["project"]
    lock = read_lock(root / LOCK.relative_to(ROOT))
    scopes = list_wanted(project)
    components = [*make_python_components(scopes, lock), *make_page_components(root / PAGE_LOCK.relative_to(ROOT))]
    own_ref = f"pkg:pypi/{about['name']}@{about['version']}"
    own = {
        "type": "application",
        "bom-ref": own_ref,
        "name": about["name"],
        "version": about["version"],
        "description": about["description"],
        "licenses": [{"expression": about["license"]}],
        "purl": own_ref,
    }
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    when = {"timestamp": datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")} if epoch else {}
    bom: Component = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {**when, "component": own},
        "components": components,
        "dependencies": list_dependencies(own, scopes["required"] + scopes["optional"], components, lock),
    }
    # By its content: the same content has the same number.
    digest = hashlib.sha256(json.dumps(bom, sort_keys=True).encode()).hexdigest()
    return {"bomFormat": "CycloneDX", "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}", **bom}


def write_bom(folder: Path) -> Path:
    bom = make_bom()
    own = bom["metadata"]["component"]
    path = folder / f"{own['name']}-{own['version']}.cdx.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bom, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="checks.sbom", description="Write the bill of materials of a release.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    path = write_bom(parser.parse_args(arguments).out)
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
