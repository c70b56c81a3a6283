"""The files of `deploy/` for several machines, read as values, and the schemas they must have."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
HAPROXY = DEPLOY / "haproxy.cfg"
KUBERNETES = DEPLOY / "kubernetes"
SCHEMAS = Path(__file__).parent / "schemas"
Manifest = dict[str, Any]


def read_yaml(path: Path) -> Manifest:
    value: Manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    return value


def list_manifests() -> list[Manifest]:
    """The resources of the kustomization, in its order."""
    return [read_yaml(KUBERNETES / name) for name in read_yaml(KUBERNETES / "kustomization.yaml")["resources"]]


def get_manifest(kind: str) -> Manifest:
    [manifest] = [manifest for manifest in list_manifests() if manifest["kind"] == kind]
    return manifest


def get_pod(manifest: Manifest) -> Manifest:
    """The specification of the pods of a Deployment or a Job."""
    pod: Manifest = manifest["spec"]["template"]["spec"]
    return pod


def read_schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


def list_problems(schema: Mapping[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, with the place of it."""
    validator = jsonschema_rs.validator_for(dict(schema), validate_formats=False)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in validator.iter_errors(value)]


def list_manifest_problems(manifest: Manifest) -> list[str]:
    """What is wrong with one resource, by the schema of its kind; a kind without a schema is wrong too."""
    if manifest["kind"] in ("ServiceMonitor", "Kustomization"):
        return list_problems(read_schema(manifest["kind"].lower()), manifest)
    schema = read_schema("kubernetes")
    kind = f"{manifest['apiVersion']}/{manifest['kind']}"
    if kind not in schema["kinds"]:
        return [f"there is no schema of {kind}"]
    return list_problems({"$defs": schema["$defs"], **schema["kinds"][kind]}, manifest)
