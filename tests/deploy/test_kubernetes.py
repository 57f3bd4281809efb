"""kubernetes.yaml: valid under the API's schemas, and in agreement with the service it runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pinch_server import __version__
from pinch_server.listen import parse_listen
from pinch_server.rpc.server import SERVICE_NAMES
from tests.cli.commands import environment
from tests.deploy.named import DEPLOY, OPERATING, default
from tests.deploy.test_images import image_variables

OBJECTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
SCHEMAS = json.loads((Path(__file__).parent / "schemas" / "kubernetes-1.31.json").read_text())
GRPC_PORT = parse_listen(default("server.listen")).port
HTTP_PORT = parse_listen(default("server.http_listen")).port


def the(kind: str) -> dict[str, Any]:
    (found,) = [thing for thing in OBJECTS if thing["kind"] == kind]
    return found


def pod(kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = the(kind)["spec"]["template"]["spec"]
    return spec


def container(kind: str) -> dict[str, Any]:
    (found,) = pod(kind)["containers"]
    return dict(found)


def check(thing: dict[str, Any]) -> None:
    """Raises ValidationError when the API would not take an object, or would drop a part of it."""
    name = SCHEMAS["kinds"][f"{thing['apiVersion']} {thing['kind']}"]
    schema = {"$ref": f"#/$defs/{name}", "$defs": SCHEMAS["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(thing)


@pytest.mark.parametrize("thing", OBJECTS, ids=lambda thing: f"{thing['kind']}")
def test_every_object_is_valid(thing: dict[str, Any]) -> None:
    """Each object follows its schema, with no member that Kubernetes does not know."""
    check(thing)


def test_the_schema_refuses_what_is_not_known() -> None:
    """A misspelt member deep inside is refused: the check can fail."""
    wrong = json.loads(json.dumps(the("Deployment")))
    wrong["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    with pytest.raises(jsonschema.ValidationError):
        check(wrong)


def test_every_object_is_in_the_one_namespace() -> None:
    """All objects go into the namespace that the file makes, and no two share kind and name."""
    name = the("Namespace")["metadata"]["name"]
    assert {thing["metadata"]["namespace"] for thing in OBJECTS if thing["kind"] != "Namespace"} == {name}
    assert len({(thing["kind"], thing["metadata"]["name"]) for thing in OBJECTS}) == len(OBJECTS)


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_pods_have_no_more_rights_than_they_need(kind: str) -> None:
    """The root file system is read-only, no right can be gained, and the user is that of the image."""
    user = pod(kind)["securityContext"]
    assert user["runAsNonRoot"] is True
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in (DEPLOY / "Dockerfile").read_text()
    assert container(kind)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(kind)["automountServiceAccountToken"] is False
    assert "memory" in container(kind)["resources"]["limits"]


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_pods_run_this_version_with_the_settings(kind: str) -> None:
    """The image is of this version, and the settings come from the two objects that hold them."""
    assert container(kind)["image"].endswith(f":{__version__}")
    assert container(kind)["envFrom"] == [
        {"configMapRef": {"name": the("ConfigMap")["metadata"]["name"]}},
        {"secretRef": {"name": the("Secret")["metadata"]["name"]}},
    ]


def settled(home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    values = image_variables() | the("ConfigMap")["data"] | the("Secret")["stringData"]
    values |= {"PINCH_STORE__STATE_DIR": str(home)} | more
    command = [sys.executable, "-m", "pinch_server", "config", "check"]
    return subprocess.run(
        command, env=environment(home, **values), capture_output=True, text=True, check=False
    )


def test_a_start_takes_the_settings(tmp_path: Path) -> None:
    """What the image, the ConfigMap and the Secret set together is legal."""
    done = settled(tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_no_variable_of_kubernetes_stops_the_start(kind: str, tmp_path: Path) -> None:
    """Service links are off: the variables they set for a Service named pinch would be refused."""
    assert pod(kind)["enableServiceLinks"] is False
    done = settled(tmp_path, PINCH_SERVICE_HOST="10.0.0.1")
    assert done.returncode == 2
    assert "PINCH_SERVICE_HOST" in done.stderr


def test_probes_ask_services_that_are_there() -> None:
    """Every probe asks the gRPC port about the whole or about a service that has health."""
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container("Deployment")[name]["grpc"]
        assert asked["port"] == GRPC_PORT
        assert asked.get("service", SERVICE_NAMES[0]) in SERVICE_NAMES


def test_ports_are_the_defaults() -> None:
    """Container, Service, scrape annotation and NetworkPolicy speak of the same two ports."""
    ports = {port["name"]: port["containerPort"] for port in container("Deployment")["ports"]}
    assert ports == {"grpc": GRPC_PORT, "metrics": HTTP_PORT}
    (served,) = the("Service")["spec"]["ports"]
    assert (served["port"], served["targetPort"]) == (GRPC_PORT, "grpc")
    annotations = the("Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(HTTP_PORT)
    opened = [rule["ports"][0]["port"] for rule in the("NetworkPolicy")["spec"]["ingress"]]
    assert opened == [GRPC_PORT, HTTP_PORT]


def test_selectors_find_the_pods() -> None:
    """Deployment, Service, disruption budget and spread select the serving pods and not the migration's."""
    labels = the("Deployment")["spec"]["template"]["metadata"]["labels"]
    others = the("Job")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        the("Deployment")["spec"]["selector"]["matchLabels"],
        the("Service")["spec"]["selector"],
        the("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        pod("Deployment")["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert not selector.items() <= others.items()
    assert (
        the("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items() <= labels.items() & others.items()
    )
    target = the("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", the("Deployment")["metadata"]["name"])
    assert "replicas" not in the("Deployment")["spec"]


def test_clients_can_spread_their_calls() -> None:
    """The Service has no virtual address, behind which one connection would stay with one pod."""
    assert the("Service")["spec"]["clusterIP"] == "None"


def test_the_state_directory_can_be_written() -> None:
    """The image's state directory is a volume that outlives the container and holds a full journal."""
    mounts = {mount["mountPath"]: mount["name"] for mount in container("Deployment")["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod("Deployment")["volumes"]}
    state = volumes[mounts[image_variables()["PINCH_STORE__STATE_DIR"]]]["emptyDir"]
    assert state.get("medium") is None
    assert int(state["sizeLimit"].removesuffix("Gi")) << 30 >= 2 * int(default("journal.max_bytes"))
    assert "/tmp" in mounts


def test_a_pod_has_time_to_end() -> None:
    """The grace period has the pause before, the drain, and the journal's way into the database in it."""
    (pause,) = container("Deployment")["lifecycle"]["preStop"]["exec"]["command"][1:]
    least = int(pause) + float(default("server.drain_seconds")) + 20
    assert pod("Deployment")["terminationGracePeriodSeconds"] >= least


def test_a_pod_has_the_cores_its_workers_want() -> None:
    """The number of workers is said, since a pod without a limit sees its node's cores, and each has one."""
    resources = container("Deployment")["resources"]
    assert the("ConfigMap")["data"]["PINCH_SERVER__WORKERS"] == resources["requests"]["cpu"]
    assert "cpu" not in resources["limits"]


def test_migration_is_a_job_of_this_version() -> None:
    """A Job migrates, named for the version, since a Job cannot be changed."""
    assert container("Job")["args"] == ["migrate", "up"]
    assert the("Job")["metadata"]["name"].endswith(__version__)


def test_the_journal_on_a_disk_of_its_own_is_valid_too() -> None:
    """The Deployment turned into a StatefulSet as docs/operating.md tells is valid."""
    text = OPERATING.read_text()
    (written,) = [block for block in text.split("```yaml\n")[1:] if block.startswith("kind: StatefulSet")]
    change = yaml.safe_load(written.partition("```")[0])
    changed = json.loads(json.dumps(the("Deployment")))
    changed["kind"] = change["kind"]
    del changed["spec"]["strategy"]
    changed["spec"] |= change["spec"]
    inside = changed["spec"]["template"]["spec"]
    claims = {claim["metadata"]["name"] for claim in change["spec"]["volumeClaimTemplates"]}
    inside["volumes"] = [volume for volume in inside["volumes"] if volume["name"] not in claims]
    check(changed)
    assert claims <= {mount["name"] for mount in inside["containers"][0]["volumeMounts"]}
    assert changed["spec"]["serviceName"] == the("Service")["metadata"]["name"]
