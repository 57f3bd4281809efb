"""The Dockerfile and compose.yaml: what no engine is needed to know."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from pinch_server.listen import parse_listen
from tests.cli.commands import environment
from tests.deploy.named import DEPLOY, ROOT, default, variable_names, variables_in
from tests.promises.declared import declared

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SCHEMAS = Path(__file__).parent / "schemas"
PORTS = {str(parse_listen(default(key)).port) for key in ("server.listen", "server.http_listen")}


def image_variables() -> dict[str, str]:
    """The settings that the image has."""
    return dict(re.findall(r"(PINCH_[A-Z_]+)=(\S+)", DOCKERFILE))


def test_the_dockerfile_is_good_practice() -> None:
    """The linter of Dockerfiles finds nothing."""
    program = shutil.which("hadolint", path=Path(sys.executable).parent) or shutil.which("hadolint")
    assert program is not None
    done = subprocess.run([program, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_takes_only_locked_packages() -> None:
    """Every installation wants hashes, which the locks have, or is of the wheel that was just built."""
    steps = re.sub(r"\\\n", " ", DOCKERFILE).split("&&")
    installs = [step for step in steps if re.search(r"\bpip\b.*\binstall\b", step)]
    assert len(installs) == 3
    assert all("--require-hashes" in step or "--no-index /dist/*.whl" in step for step in installs)
    for lock in re.findall(r"-r (requirements/\S+)", DOCKERFILE):
        assert "--hash=sha256:" in (ROOT / lock).read_text()


def test_the_image_has_what_the_suite_was_run_with() -> None:
    """The image locks what the distribution declares, each package to the version the tests have."""
    tested, shipped, built = (
        dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("dev.txt", "server.txt", "build.txt")
    )
    assert {**shipped, **built}.items() <= tested.items()
    assert declared() | declared("server") | declared("postgres") <= shipped.keys()
    assert "pytest" not in shipped


def test_whatever_the_dockerfile_copies_is_there_and_let_in() -> None:
    """Each source of a COPY exists and is let in by the ignore file, which lets in nothing else."""
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {source.rstrip("/") for line in copies for source in line.split()}
    allowed = {
        line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    assert all((ROOT / source).exists() for source in sources)
    assert sources - allowed <= {
        "requirements/build.txt",
        "requirements/server.txt",
    }
    assert allowed - sources == {"requirements"}


def test_the_image_runs_as_nobody_with_one_place_to_write() -> None:
    """The last stage runs under a number that is not root's, and its state directory is its volume."""
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\d+):\d+$", last, re.MULTILINE)
    assert int(user) >= 10_000
    (volume,) = re.findall(r'^VOLUME \["(\S+)"\]$', last, re.MULTILINE)
    assert image_variables()["PINCH_STORE__STATE_DIR"] == volume
    assert f"--mode=0700 {volume}" in last


def test_the_image_is_compiled_before_it_is_read_only() -> None:
    """What was installed without bytecode is compiled at the end of the build: each probe is a start."""
    build = DOCKERFILE.rpartition("\nFROM ")[0]
    assert build.count("--no-compile") == 2
    assert build.rindex("compileall -q --invalidation-mode=unchecked-hash") > build.rindex("--no-compile")


def test_the_image_listens_where_it_says(tmp_path: Path) -> None:
    """The image's settings are ones a start accepts, on the default ports, which it exposes and probes."""
    wanted = image_variables()
    done = subprocess.run(
        [sys.executable, "-m", "pinch_server", "config", "check"],
        env=environment(tmp_path, **{**wanted, "PINCH_STORE__STATE_DIR": str(tmp_path)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {wanted[f"PINCH_SERVER__{name}"].rpartition(":")[2] for name in ("LISTEN", "HTTP_LISTEN")}
    (exposed,) = re.findall(r"^EXPOSE (.+)$", DOCKERFILE, re.MULTILINE)
    assert found == PORTS == set(exposed.split())
    (command,) = re.findall(r"^HEALTHCHECK .*\\\n\s+CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    probe = json.loads(command)
    assert probe[:2] == ["pinch", "healthcheck"]
    assert probe[-1] == f"127.0.0.1:{parse_listen(default('server.listen')).port}"


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "kubernetes.yaml"])
def test_every_variable_is_a_setting(name: str) -> None:
    """What is named like a setting is one; a start would refuse the name otherwise."""
    named = variables_in((DEPLOY / name).read_text())
    assert named - variable_names() <= {"PINCH_", "PINCH_SERVICE_HOST"}


def test_compose_follows_its_specification() -> None:
    """compose.yaml is valid under the schema of the Compose Specification."""
    schema = json.loads((SCHEMAS / "compose-spec.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(COMPOSE)


def test_compose_names_what_is_there() -> None:
    """Images are pinned by version, mounted files exist, volumes are declared, ports are this machine's."""
    for name, service in COMPOSE["services"].items():
        assert re.search(r":(local|v?\d+\.\d+(\.\d+)?\S*)$", service["image"]), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"]
        assert set(service.get("depends_on", {})) <= set(COMPOSE["services"])


def test_compose_gives_the_service_what_it_needs() -> None:
    """Its ports are the defaults, its journal is on a volume, and it has time to stop."""
    service = COMPOSE["services"]["pinch"]
    assert {port.rpartition(":")[2] for port in service["ports"]} == PORTS
    assert f"journal:{image_variables()['PINCH_STORE__STATE_DIR']}" in service["volumes"]
    # The drain, the cancelling after it, and the writers' patience.
    assert int(service["stop_grace_period"].removesuffix("s")) > float(default("server.drain_seconds")) + 20
    assert service["read_only"] is True


def test_prometheus_and_grafana_find_each_other() -> None:
    """Prometheus scrapes the service under the job's name; Grafana finds Prometheus and the dashboard."""
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert job["job_name"] == "pinch"
    assert found["names"] == ["pinch"]
    assert f"127.0.0.1:{found['port']}:{found['port']}" in COMPOSE["services"]["pinch"]["ports"]
    (source,) = yaml.safe_load((DEPLOY / "grafana-datasource.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((DEPLOY / "grafana-provider.yaml").read_text())["providers"]
    mounted = [volume.split(":")[1] for volume in COMPOSE["services"]["grafana"]["volumes"]]
    assert f"{provider['options']['path']}/pinch.json" in mounted
    home = COMPOSE["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home in mounted
