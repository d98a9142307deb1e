"""`compose.yaml` and `Dockerfile`, as far as a machine without Docker can tell: their commands run here."""

import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from django.conf import settings
from django.db import connection

from apps.common.request_bodies import MULTIPART_OVERHEAD_BYTES
from config.env import ROOT
from tests.conftest import WORKER_TIMEOUT, WebServer

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "loci:latest"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PROGRAMS = ("web", "beat", "worker scheduled")


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


@pytest.fixture
def environment(transactional_db: None, tmp_path: Path) -> dict[str, str]:
    """What a container gets, with the database of the tests and its secrets in files."""
    database = connection.settings_dict
    url = f"postgres://{database['USER']}@{quote(str(database['HOST']), safe='')}:{database['PORT']}/{database['NAME']}"
    (tmp_path / "url").write_text(url)
    (tmp_path / "key").write_text("k" * 50)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI", "DJANGO", "DATABASE"))}
    kept.pop("SECRET_KEY", None)
    image = dict(part.split("=", 1) for part in shlex.split(" ".join(instructions("ENV"))) if "PATH" not in part)
    return {
        **kept,
        **image,
        "LOCI_HOME": str(tmp_path / "data"),
        "LOCI_HOST": "127.0.0.1",
        "LOCI_PORT": str(WebServer().port),
        "DATABASE_URL_FILE": str(tmp_path / "url"),
        "SECRET_KEY_FILE": str(tmp_path / "key"),
        "LOG_LEVEL": "ERROR",
    }


@pytest.fixture
def programs(environment: dict[str, str]) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    assert run(environment, "run", "prepare").returncode == 0
    started = {
        program: subprocess.Popen(
            [sys.executable, "manage.py", "run", *program.split()], cwd=ROOT, env=environment, start_new_session=True
        )
        for program in PROGRAMS
    }
    yield started
    for process in started.values():
        process.terminate()
    for process in started.values():
        process.wait(WORKER_TIMEOUT)


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=120, check=False)


@pytest.mark.worker
def test_the_programs_of_the_containers_run_here(
    environment: dict[str, str], programs: dict[str, subprocess.Popen[bytes]]
) -> None:
    deadline = time.monotonic() + 2 * WORKER_TIMEOUT
    is_healthy = False
    while not is_healthy and time.monotonic() < deadline:
        assert all(process.poll() is None for process in programs.values())
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{environment['LOCI_PORT']}/healthz/", timeout=5) as reply:
                is_healthy = reply.status == 200
        except OSError:
            time.sleep(0.3)
    assert is_healthy
    while run(environment, "check_worker", "scheduled").returncode and time.monotonic() < deadline:
        time.sleep(1)
    assert run(environment, "check_worker", "scheduled").returncode == 0
    assert run(environment, "check_worker", "replies").returncode == 1
    assert b"needs a queue" in run(environment, "run", "worker").stderr
