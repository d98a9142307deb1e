"""`compose.yaml` and `Dockerfile`, as far as a machine without Docker can tell: their commands run here."""

import datetime as dt
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from django.conf import settings
from django.db import connection
from django.utils.timezone import now

from apps.common.http.request_bodies import MULTIPART_OVERHEAD_BYTES
from apps.common.models import Heartbeat
from apps.launcher.embedded_postgres import find_or_create
from apps.launcher.services import NICENESS
from apps.launcher.system_user import SystemUser
from config.env import ROOT
from tests.conftest import WORKER_TIMEOUT, WebServer

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


@pytest.fixture
def user(transactional_db: None) -> SystemUser:
    """Who runs the tests' Postgres, which lets nobody else in: not root."""
    return find_or_create(settings.LOCI_HOME, durable=False).user


@pytest.fixture
def folder(user: SystemUser) -> Iterator[Path]:
    """A folder that the user can pass through, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="loci-image-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def python(folder: Path, user: SystemUser) -> Path:
    """The folder of an interpreter that the user can start: a copy where the one that runs the tests is below /root."""
    programs = Path(sys.base_prefix) / "bin"
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not user.can_access(programs / name):
        unneeded = shutil.ignore_patterns("site-packages", "test", "tests", "__pycache__", "config-*", "*.a")
        shutil.copytree(Path(sys.base_prefix) / "lib", folder / "python" / "lib", ignore=unneeded, symlinks=True)
        (folder / "python" / "bin").mkdir()
        programs = Path(shutil.copy(programs / name, folder / "python" / "bin")).parent
        (programs / "python").symlink_to(name)
    return programs


@pytest.fixture
def image(folder: Path, python: Path) -> Path:
    """The folder that the Dockerfile makes, by its own COPY and RUN instructions, in their order.

    Two things differ from a build. The packages are those that are installed here: a path file adds them to the new
    virtual environment, and pip, which may not download, has to find each one in the version that is pinned, since an
    installation takes minutes. And the user is not created, which would change this machine.
    """
    root = folder / "srv"
    root.mkdir()
    environment = {
        "PATH": f"{python}:{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "LD_LIBRARY_PATH": f"{python.parent}/lib",
    }
    for line in DOCKERFILE.replace("\\\n", " ").splitlines():
        keyword, _, rest = line.partition(" ")
        if keyword == "COPY" and not rest.startswith("--from"):
            copy_into(root, *rest.split())
        elif keyword == "RUN" and not rest.startswith("useradd"):
            subprocess.run(["/bin/sh", "-ec", rest], cwd=root, env=environment, check=True, capture_output=True)
            for packages in root.glob(".venv/lib/python*/site-packages"):
                (packages / "installed.pth").write_text(sysconfig.get_path("purelib"))
    return root


def copy_into(root: Path, *words: str) -> None:
    *sources, target = words
    for source in sources:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, root / target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, root / target)


@pytest.fixture
def environment(user: SystemUser, folder: Path, python: Path, image: Path) -> dict[str, str]:
    """What a container gets, with the database of the tests and its secrets in files."""
    database = connection.settings_dict
    url = f"postgres://{database['USER']}@{quote(str(database['HOST']), safe='')}:{database['PORT']}/{database['NAME']}"
    (folder / "url").write_text(url)
    (folder / "key").write_text("k" * 50)
    (folder / "data").mkdir(mode=0o700)
    os.chown(folder / "data", user.uid, user.gid)
    of_image = dict(part.split("=", 1) for part in shlex.split(" ".join(instructions("ENV"))))
    path = of_image["PATH"].replace(instructions("WORKDIR")[-1], str(image)).replace("$PATH", os.environ["PATH"])
    return {
        **of_image,
        "PATH": path,
        "LD_LIBRARY_PATH": f"{python.parent}/lib",
        "LOCI_HOME": str(folder / "data"),
        "LOCI_HOST": "127.0.0.1",
        "LOCI_PORT": str(WebServer().port),
        "DATABASE_URL_FILE": str(folder / "url"),
        "SECRET_KEY_FILE": str(folder / "key"),
        "WEB_CONCURRENCY": "1",
        "WORKER_CONCURRENCY": "1",
        "LOG_LEVEL": "ERROR",
    }


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(environment: dict[str, str], image: Path, user: SystemUser) -> Iterator[Start]:
    """A function that starts a program by a command of the image's folder, as the user."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> subprocess.Popen[bytes]:
        program = str(shutil.which(command[0], path=environment["PATH"]))
        options = {"cwd": image, "env": environment, "start_new_session": True, **user.subprocess_options}
        started.append(subprocess.Popen([program, *command[1:]], stderr=subprocess.PIPE, **options))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
    for process in started:
        process.wait(WORKER_TIMEOUT)
        process.stderr.close()


@pytest.mark.worker
def test_the_programs_of_the_image_run_here_as_a_user_who_is_not_root(
    environment: dict[str, str], start: Start, user: SystemUser, image: Path
) -> None:
    assert user.uid != 0
    entry_point = json.loads(instructions("ENTRYPOINT")[0])
    prepare = start(*entry_point, "prepare")
    assert prepare.wait(2 * WORKER_TIMEOUT) == 0, prepare.stderr.read().decode()
    Heartbeat.objects.all().delete()
    others = [service["command"] for service in OURS.values() if service["command"] != ["prepare"]]
    programs = {command[-1]: start(*entry_point, *command) for command in others}
    deadline = time.monotonic() + 4 * WORKER_TIMEOUT
    while not is_ready(environment["LOCI_PORT"]):
        ended = [name for name, process in programs.items() if process.poll() is not None]
        assert not ended, ended
        assert time.monotonic() < deadline
        time.sleep(0.3)
    assert start("python", "manage.py", "check_worker", "extraction").wait(WORKER_TIMEOUT) == 0
    programs["replies"].terminate()
    programs["replies"].wait(WORKER_TIMEOUT)
    Heartbeat.objects.filter(part="replies").update(at=now() - dt.timedelta(minutes=10))
    assert start("python", "manage.py", "check_worker", "replies").wait(WORKER_TIMEOUT) == 1
    wrong = start(*entry_point, "worker")
    assert wrong.wait(WORKER_TIMEOUT) == 1
    assert b"needs a queue" in wrong.stderr.read()
    assert not [path for path in image.rglob("*") if not path.is_symlink() and path.stat().st_uid == user.uid]


def is_ready(port: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz/", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False
