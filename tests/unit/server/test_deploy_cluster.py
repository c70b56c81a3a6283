"""The files of `deploy/` for several machines: schemas, and that they say what the code does.

There is neither a Docker engine nor a Kubernetes cluster to start them with here. `tests/peers/test_haproxy.py` runs
HAProxy's file.
"""

import copy
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.settings import ServerSettings
from rightseat.http.descriptors import DescriptorReserve
from rightseat.runtime.metrics import Metrics
from rightseat.server.operations import make_operations_door
from tests.unit.server.manifests import (
    COMPOSE,
    DEPLOY,
    HAPROXY,
    KUBERNETES,
    ROOT,
    Manifest,
    get_manifest,
    get_pod,
    list_manifest_problems,
    list_manifests,
    list_problems,
    read_schema,
    read_yaml,
)

CONFIGS = (DEPLOY / "compose.toml", KUBERNETES / "rightseat.toml")
CONFIG_IN_CONTAINER = "/etc/rightseat/rightseat.toml"
SERVER_LABELS = {"app.kubernetes.io/name": "rightseat", "app.kubernetes.io/component": "server"}
POD_KINDS = ("Deployment", "Job")


def list_mappings(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of each mapping in a value."""
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            yield from list_mappings(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from list_mappings(item, (*path, number))


def list_secrets(value: Any) -> set[str]:
    """The variables that a configuration takes its secrets from."""
    if isinstance(value, dict):
        return set().union(*map(list_secrets, value.values()))
    return {value.removeprefix("env:")} if isinstance(value, str) and value.startswith("env:") else set()


def list_routes() -> set[str]:
    def fail() -> Any:
        raise AssertionError("no request is served")

    return {route.path for route in make_operations_door(fail, DescriptorReserve(), metrics="key").routes}


def list_variables(container: Manifest) -> set[str]:
    return {entry["name"] for entry in container["env"]}


def read_haproxy() -> dict[str, list[str]]:
    """The lines of each section of HAProxy's file, without comments."""
    sections: dict[str, list[str]] = {}
    for line in HAPROXY.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith(" "):
            sections[line] = []
        else:
            sections[list(sections)[-1]].append(line.strip())
    return sections


@pytest.mark.demand("cluster.compose")
def test_the_compose_file_has_the_form_of_the_specification() -> None:
    schema, compose = read_schema("compose"), read_yaml(COMPOSE)
    assert list_problems(schema, compose) == []
    compose["services"]["postgres"]["helthcheck"] = {}
    assert any("helthcheck" in problem for problem in list_problems(schema, compose))


@pytest.mark.demand("cluster.compose")
def test_compose_starts_two_replicas_after_one_migration() -> None:
    services = read_yaml(COMPOSE)["services"]
    assert set(services) == {"postgres", "valkey", "migrate", "rightseat-1", "rightseat-2", "haproxy"}
    assert services["rightseat-1"] == services["rightseat-2"]
    for name in ("rightseat-1", "rightseat-2"):
        conditions = {other: entry["condition"] for other, entry in services[name]["depends_on"].items()}
        assert conditions == {"migrate": "service_completed_successfully", "valkey": "service_healthy"}
        assert "command" not in services[name], "the image's own: serve"
        assert float(services[name]["stop_grace_period"].removesuffix("s")) >= ServerSettings().grace + 15
    assert services["migrate"]["command"] == ["store", "migrate", "--config", CONFIG_IN_CONTAINER]
    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert services["migrate"]["restart"] == "no"
    assert services["postgres"]["image"] == "postgres:17"
    assert services["valkey"]["image"] == "valkey/valkey:9"
    assert all("healthcheck" in services[name] for name in services if name != "haproxy")


@pytest.mark.demand("cluster.compose")
def test_composes_secrets_come_from_the_environment_and_ports_are_those_of_the_image() -> None:
    text, compose = COMPOSE.read_text(encoding="utf-8"), read_yaml(COMPOSE)
    service = compose["services"]["rightseat-1"]
    config = tomllib.loads(CONFIGS[0].read_text(encoding="utf-8"))
    assert list_secrets(config) <= set(service["environment"])
    for name, value in service["environment"].items():
        assert name == "RIGHTSEAT_DATA" or ":?set it in deploy/.env}" in value, f"{name} has a default"
    for line in text.splitlines():
        assert not re.search(r"(?i)(password|key): (?!\$\{)\S", line), line
    assert f"./compose.toml:{CONFIG_IN_CONTAINER}:ro" in service["volumes"]
    port = ServerSettings().port
    assert f"EXPOSE {port}\n" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    proxy = compose["services"]["haproxy"]
    assert {proxy["environment"][f"REPLICA_{n}"] for n in (1, 2)} == {f"rightseat-{n}:{port}" for n in (1, 2)}
    assert proxy["ports"] == [f"127.0.0.1:{proxy['environment']['LISTEN_PORT']}:{proxy['environment']['LISTEN_PORT']}"]
    assert f"127.0.0.1:{port}/ready" in service["healthcheck"]["test"][-1]
    assert "/ready" in list_routes()
    networks = [entry["subnet"] for entry in compose["networks"]["default"]["ipam"]["config"]]
    assert config["server"]["trusted_proxies"] == networks
    assert (ROOT / service["build"]["dockerfile"]).is_file()


@pytest.mark.demand("cluster.compose")
def test_haproxy_neither_buffers_nor_binds_a_client_to_a_replica_nor_repeats_what_ran() -> None:
    sections = read_haproxy()
    lines = [line for section in sections.values() for line in section]
    backend, defaults = sections["backend replicas"], sections["defaults"]
    assert {"balance roundrobin", "option httpchk", "http-check expect status 200"} <= set(backend)
    assert "http-check send meth GET uri /ready ver HTTP/1.1 hdr Host localhost" in backend
    assert {"option redispatch 1", "retry-on conn-failure", "option http-no-delay"} <= set(defaults)
    assert not [line for line in lines if re.search(r"buffer|cookie|stick|hash|shutdown-sessions|compression", line)]
    waits = {line.split()[1]: line.split()[2] for line in defaults if line.startswith("timeout ")}
    assert waits["server"] == waits["client"] == "1h"
    assert float(waits["http-request"].removesuffix("s")) > ServerSettings().header_timeout
    assert {"X-Forwarded-Proto", "X-Forwarded-Host"} <= {
        line.split()[2] for line in sections["frontend clients"] if line.startswith("http-request set-header")
    }


@pytest.mark.demand("cluster.kubernetes")
@pytest.mark.parametrize("manifest", [pytest.param(value, id=value["kind"]) for value in list_manifests()])
def test_a_manifest_has_the_form_of_its_kind(manifest: Manifest) -> None:
    assert list_manifest_problems(manifest) == []


@pytest.mark.demand("cluster.kubernetes")
@pytest.mark.parametrize("kind", ["Deployment", "Job", "HorizontalPodAutoscaler", "NetworkPolicy", "ServiceMonitor"])
def test_a_misspelled_field_is_found_wherever_it_is(kind: str) -> None:
    manifest = get_manifest(kind)
    free = {"labels", "matchLabels", "requests", "limits", "metadata"}
    for path in list_mappings(manifest["spec"], ("spec",)):
        # Names of one's own; and an empty mapping may be a set of those.
        if free & set(path):
            continue
        crooked = copy.deepcopy(manifest)
        place: Any = crooked
        for step in path:
            place = place[step]
        place["misspelled"] = 1
        assert list_manifest_problems(crooked), path


@pytest.mark.demand("cluster.kubernetes")
def test_the_kustomization_names_every_file_and_makes_the_config_map() -> None:
    kustomization = read_yaml(KUBERNETES / "kustomization.yaml")
    assert list_manifest_problems(kustomization) == []
    files = {path.name for path in KUBERNETES.iterdir()}
    assert files == {*kustomization["resources"], "kustomization.yaml", "rightseat.toml"}
    [generated] = kustomization["configMapGenerator"]
    assert generated == {"name": "rightseat", "files": ["rightseat.toml"]}
    assert get_manifest("Namespace")["metadata"]["name"] == kustomization["namespace"]
    images = {container["image"] for kind in POD_KINDS for container in get_pod(get_manifest(kind))["containers"]}
    assert images == {image["name"] for image in kustomization["images"]}


@pytest.mark.demand("cluster.kubernetes")
def test_the_deployment_rolls_without_losing_a_replica_and_waits_for_answers() -> None:
    deployment, config = get_manifest("Deployment"), tomllib.loads(CONFIGS[1].read_text(encoding="utf-8"))
    pod = get_pod(deployment)
    [container] = pod["containers"]
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    grace = config["server"]["grace"]
    assert grace == ServerSettings().grace
    assert pod["terminationGracePeriodSeconds"] == grace + 15
    assert 0 < container["lifecycle"]["preStop"]["sleep"]["seconds"] < 15
    assert "replicas" not in deployment["spec"], "the autoscaler's"
    assert "affinity" not in pod
    assert container["args"] == ["serve", "--config", CONFIG_IN_CONTAINER]


@pytest.mark.demand("cluster.kubernetes")
def test_ports_probes_and_metrics_are_those_of_the_code() -> None:
    [container] = get_pod(get_manifest("Deployment"))["containers"]
    config = tomllib.loads(CONFIGS[1].read_text(encoding="utf-8"))
    [port] = container["ports"]
    assert port["containerPort"] == config["server"]["port"] == ServerSettings().port
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/health",
        "livenessProbe": "/health",
        "readinessProbe": "/ready",
    }
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    monitor, service = get_manifest("ServiceMonitor"), get_manifest("Service")
    [endpoint], [service_port] = monitor["spec"]["endpoints"], service["spec"]["ports"]
    assert {probe["path"] for probe in probes.values()} | {endpoint["path"]} <= list_routes()
    assert endpoint["port"] == service_port["name"]
    assert service_port["targetPort"] == port["name"]
    assert service["spec"]["sessionAffinity"] == "None"
    [metric] = get_manifest("HorizontalPodAutoscaler")["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] in Metrics().to_prometheus().decode()
    assert float(metric["pods"]["target"]["averageValue"]) < ServerSettings().max_runs


@pytest.mark.demand("cluster.kubernetes")
@pytest.mark.parametrize("kind", POD_KINDS)
def test_pods_run_without_root_on_a_read_only_disk_with_secrets_of_the_secret(kind: str) -> None:
    pod = get_pod(get_manifest(kind))
    [container] = pod["containers"]
    user = pod["securityContext"]["runAsUser"]
    assert f"\nUSER {user}\n" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    config = tomllib.loads(CONFIGS[1].read_text(encoding="utf-8"))
    assert list_variables(container) == list_secrets(config) | {"RIGHTSEAT_DATA"}
    for entry in container["env"]:
        reference = entry.get("valueFrom", {}).get("secretKeyRef")
        assert entry["name"] == "RIGHTSEAT_DATA" or reference == {"name": "rightseat", "key": entry["name"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes[mounts["/etc/rightseat"]]["configMap"]["name"] == "rightseat"
    assert all("emptyDir" in volumes[mounts[path]] for path in ("/var/lib/rightseat", "/tmp"))


@pytest.mark.demand("cluster.kubernetes")
def test_what_selects_the_replicas_selects_them() -> None:
    deployment = get_manifest("Deployment")
    assert deployment["spec"]["template"]["metadata"]["labels"] == SERVER_LABELS
    selectors = {
        "Deployment": deployment["spec"]["selector"]["matchLabels"],
        "Service": get_manifest("Service")["spec"]["selector"],
        "PodDisruptionBudget": get_manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        "ServiceMonitor": get_manifest("ServiceMonitor")["spec"]["selector"]["matchLabels"],
    }
    assert {kind: selector for kind, selector in selectors.items() if selector != SERVER_LABELS} == {}
    assert get_manifest("Service")["metadata"]["labels"] == SERVER_LABELS
    # The Job too: it must reach the database, and no request may reach it.
    assert get_manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items() <= SERVER_LABELS.items()
    job = get_manifest("Job")
    assert job["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] == "rightseat"
    assert job["spec"]["template"]["metadata"]["labels"] != SERVER_LABELS
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "store",
        "migrate",
        "--config",
        CONFIG_IN_CONTAINER,
    ]
    target = get_manifest("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])
    assert get_manifest("HorizontalPodAutoscaler")["spec"]["minReplicas"] >= 2


@pytest.mark.demand("cluster.compose", "cluster.kubernetes")
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.parent.name)
def test_the_configuration_keeps_the_truth_in_postgresql_and_migrates_by_command(path: Path) -> None:
    config = tomllib.loads(path.read_text(encoding="utf-8"))
    assert config["store"] == {"kind": "postgres", "url": "env:DATABASE_URL", "migrate": "never"}
    assert config["live"] == {"kind": "valkey", "url": "env:VALKEY_URL"}


@pytest.mark.demand("cluster.compose", "cluster.kubernetes")
def test_the_image_has_the_clients_of_postgresql_and_valkey() -> None:
    assert "-r requirements/cluster.txt" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = (ROOT / "requirements" / "cluster.in").read_text(encoding="utf-8").splitlines()
    wanted = {line for line in lines if not line.startswith("#")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # Once there is the extra, the image has what it says.
    assert wanted == set(project["optional-dependencies"].get("cluster", wanted))
