"""`compose.yaml` and `Dockerfile`, as far as a machine without Docker can tell: their commands run here."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from apps.common.http.request_bodies import MULTIPART_OVERHEAD_BYTES
from apps.launcher.services import NICENESS
from config.env import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "loci:latest"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def instructions(keyword: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.partition(" ")[2].strip() for line in joined.splitlines() if line.startswith(f"{keyword} ")]


def test_each_queue_has_a_worker_and_each_program_is_there_once() -> None:
    commands = [" ".join(service["command"]) for service in OURS.values()]
    assert sorted(commands) == sorted(["prepare", "web", "beat", *(f"worker {queue}" for queue in settings.QUEUES)])


def test_what_serves_has_a_health_check_and_starts_after_what_it_needs() -> None:
    without = {name for name, service in COMPOSE["services"].items() if "healthcheck" not in service}
    assert without == {"prepare", "beat"}
    for name, service in OURS.items():
        needed = {"db": "service_healthy"} if name == "prepare" else {"prepare": "service_completed_successfully"}
        assert {other: how["condition"] for other, how in service["depends_on"].items()} == needed
        if service["command"][0] == "worker":
            assert service["healthcheck"]["test"][-2:] == ["check_worker", service["command"][1]]


def test_secrets_are_files_and_data_is_in_named_volumes() -> None:
    for service in COMPOSE["services"].values():
        variables = service.get("environment", {})
        assert not {name for name in variables if re.search("PASSWORD|SECRET|TOKEN|DATABASE_URL", name)} - {
            name for name in variables if name.endswith("_FILE")
        }
        for name in service.get("secrets", []):
            assert COMPOSE["secrets"][name]["file"].startswith("./deploy/secrets/")
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).is_file()
    ignored = subprocess.run(["git", "check-ignore", "-q", "deploy/secrets/secret_key"], cwd=ROOT, check=False)
    assert ignored.returncode == 0


def test_variables_are_those_of_the_configuration() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/configuration.md").read_text(), flags=re.MULTILINE))
    used = {name.removesuffix("_FILE") for service in OURS.values() for name in service["environment"]}
    image = {part.partition("=")[0] for part in " ".join(instructions("ENV")).split()}
    assert used | {name for name in image if name.startswith(("LOCI", "LOG"))} <= documented


def test_workers_get_what_requests_leave_of_the_processor() -> None:
    shares = {name: service["cpu_shares"] for name, service in COMPOSE["services"].items() if name != "prepare"}
    workers = {name: shares[name] for name in settings.QUEUES}
    assert {shares[name] for name in ("proxy", "web", "db")} == {4096}
    assert sum(workers.values()) + shares["beat"] < 4096, "all of them together"
    waited_for = [share for name, share in workers.items() if name not in NICENESS]
    assert max(shares[name] for name in NICENESS) < min(waited_for)


def test_the_proxy_takes_bodies_that_loci_takes() -> None:
    limit = re.search(r"max_size (\d+)MiB", (ROOT / "deploy/Caddyfile").read_text())
    assert limit is not None
    assert settings.IMPORT_MAX_BYTES + MULTIPART_OVERHEAD_BYTES <= int(limit[1]) * 2**20 < 2 * settings.IMPORT_MAX_BYTES


def test_the_image_has_what_it_copies_is_not_run_by_root_and_its_packages_are_pinned() -> None:
    assert instructions("USER") == ["loci"]
    for copied in instructions("COPY"):
        if not copied.startswith("--from"):
            assert all((ROOT / source).exists() for source in copied.split()[:-1]), copied
    included = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {source for line in instructions("COPY") if "--from" not in line for source in line.split()[:-1]}
    assert copied <= included
    assert "requirements.lock" in instructions("RUN")[1]


def test_compose_accepts_the_file(tmp_path: Path) -> None:
    """`docker compose config`, or the Compose of Debian 12, which knows all of the file but its name.

    Neither needs an engine.
    """
    asked = "docker compose version || docker-compose version"
    answer = subprocess.run(["/bin/sh", "-c", asked], capture_output=True, text=True, check=False)
    if answer.returncode:
        pytest.skip("neither docker compose nor docker-compose is installed")
    plugin = answer.stdout.startswith("Docker Compose")
    program = ["docker", "compose"] if plugin else ["docker-compose"]
    text = (ROOT / "compose.yaml").read_text()
    (tmp_path / "compose.yaml").write_text(text if plugin else text.replace("name: loci\n", "", 1))
    done = subprocess.run([*program, "config"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load(done.stdout)
    assert config["services"].keys() == COMPOSE["services"].keys()
    assert config["services"]["extraction"]["command"] == ["worker", "extraction"]
