"""The programs of the image, started as containers start them, by a user who is not root."""

import json
import os
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
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection
from django.utils.timezone import now

from apps.common.health import delete_heartbeats
from apps.common.models import Lease
from apps.launcher.postgres_cluster import find_or_create
from apps.launcher.system_user import SystemUser
from config.env import ROOT
from tests.conftest import WORKER_TIMEOUT, WebServer
from tests.launcher.test_containers import DOCKERFILE, OURS, instructions


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
    delete_heartbeats()
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
    Lease.objects.filter(key="worker replies").update(ends=[now()])
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
