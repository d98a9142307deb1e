"""Data of earlier states of Loci is upgraded when it is started, and comes back as it was.

``tests/data/upgrades`` has a dump for each, named by its last migration of memories: a chat of six messages with three
memories, as that state had stored them.
"""

import lzma
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from apps.launcher.embedded_postgres import running
from apps.launcher.postgres_cluster import ROLE, socket_folder
from apps.launcher.upgrades import dumps, restore
from config.env import ROOT
from tests.launcher.test_embedded_postgres import home as home
from tests.system.processes import NOT_INHERITED

DUMPS = sorted((ROOT / "tests" / "data" / "upgrades").glob("*.dump.xz"))
PREPARE = """
import django
django.setup()
from apps.launcher.management.commands.up import prepare
prepare()
from apps.chats.models import Message
from apps.common.scoping import system_scope
from apps.launcher.integrity.checks import run_checks
from apps.memories.models import Memory
with system_scope():
    print(Message.objects.count(), Memory.objects.count(), Message.objects.filter(swipes__mes__contains="key").count())
print([check.promise for check, found, _ in run_checks(repair=False) if found and "vector" not in check.promise])
"""


def run(home: Path, *command: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment = {**inherited, "LOCI_HOME": str(home), "LOG_LEVEL": "ERROR", "DEMO": "off"}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def migrations(home: Path) -> set[tuple[str, str]]:
    with psycopg.connect(host=str(socket_folder(home)), user=ROLE, dbname="loci") as connection:
        return set(connection.execute("SELECT app, name FROM django_migrations").fetchall())


@pytest.mark.parametrize("stored", DUMPS, ids=lambda stored: stored.name.partition(".")[0])
def test_data_of_an_earlier_state_is_upgraded_and_comes_back(home: Path, stored: Path) -> None:
    dump = home.parent / "stored.dump"
    dump.write_bytes(lzma.decompress(stored.read_bytes()))
    with running(home):
        restore(home, dump)
        before = migrations(home)
        counts, broken = run(home, "-c", PREPARE).splitlines()[-2:]
        assert (counts, broken) == ("6 3 1", "[]")
        assert migrations(home) > before
        assert len(dumps(home)) == 1

        run(home, "manage.py", "undo_upgrade")
        assert migrations(home) == before
        with psycopg.connect(host=str(socket_folder(home)), user=ROLE, dbname="loci") as connection:
            assert connection.execute("SELECT count(*) FROM memories_memory").fetchone() == (3,)


def test_there_are_earlier_states() -> None:
    assert len(DUMPS) >= 3
