"""Cuts the official schemas down to what `deploy/` uses, without their descriptions.

    python -m tests.unit.server.schemas.cut kubernetes FILE    FILE: _definitions.json of a Kubernetes version, strict
    python -m tests.unit.server.schemas.cut compose FILE       FILE: compose-spec.json

Of Kubernetes a definition stays if an object of the manifests has it, with all its properties but those whose
definition goes; so a property that is new to the manifests may need another cut.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.unit.server.manifests import SCHEMAS, list_manifests

Schema = dict[str, Any]
ROOTS = {
    "v1/Namespace": "io.k8s.api.core.v1.Namespace",
    "v1/Service": "io.k8s.api.core.v1.Service",
    "apps/v1/Deployment": "io.k8s.api.apps.v1.Deployment",
    "batch/v1/Job": "io.k8s.api.batch.v1.Job",
    "policy/v1/PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "autoscaling/v2/HorizontalPodAutoscaler": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "networking.k8s.io/v1/NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
}


def drop_descriptions(value: Any, *, named: bool = False) -> Any:
    """The schema without descriptions; `named`: its keys are names of properties, which stay."""
    if isinstance(value, list):
        return [drop_descriptions(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if named or (key != "description" and not key.startswith("x-"))}
    names = ("properties", "patternProperties", "$defs", "definitions")
    return {key: drop_descriptions(item, named=not named and key in names) for key, item in kept.items()}


def list_references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rsplit("/", 1)[1]
        for item in value.values():
            yield from list_references(item)
    elif isinstance(value, list):
        for item in value:
            yield from list_references(item)


def list_used(definitions: Mapping[str, Schema], name: str, value: Any) -> Iterator[str]:
    """The names of the definitions that the value has, from the one of this name."""
    yield name
    definition = definitions[name]
    if isinstance(value, dict):
        for key, item in value.items():
            yield from list_used_inside(definitions, definition.get("properties", {}).get(key, {}), item)


def list_used_inside(definitions: Mapping[str, Schema], schema: Schema, value: Any) -> Iterator[str]:
    if "$ref" in schema:
        yield from list_used(definitions, schema["$ref"].rsplit("/", 1)[1], value)
    for item in value if isinstance(value, list) else ():
        yield from list_used_inside(definitions, schema.get("items", {}), item)
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for item in value.values():
            yield from list_used_inside(definitions, schema["additionalProperties"], item)


def cut_kubernetes(definitions: Mapping[str, Schema], manifests: Iterable[Mapping[str, Any]]) -> Schema:
    """Return a schema with the definitions that the manifests use, and `kinds`: the definition of each kind."""
    used: set[str] = set()
    for manifest in manifests:
        root = ROOTS.get(f"{manifest['apiVersion']}/{manifest['kind']}")
        used |= set(list_used(definitions, root, manifest)) if root else set()
    cut: dict[str, Schema] = {}
    for name in sorted(used):
        definition = drop_descriptions(definitions[name])
        properties = definition.get("properties", {})
        kept = {key: item for key, item in properties.items() if set(list_references(item)) <= used}
        cut[name] = {**definition, **({"properties": kept} if properties else {})}
    text = json.dumps(cut).replace("/api/_definitions.json#/", "#/")
    return {"kinds": {kind: {"$ref": f"#/$defs/{name}"} for kind, name in ROOTS.items()}, "$defs": json.loads(text)}


def main(kind: str, file: str) -> None:
    official = json.loads(Path(file).read_text(encoding="utf-8"))
    schema = (
        cut_kubernetes(official["$defs"], list_manifests()) if kind == "kubernetes" else drop_descriptions(official)
    )
    target = SCHEMAS / f"{kind}.json"
    target.write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
