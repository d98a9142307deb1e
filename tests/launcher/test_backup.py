"""A backup made as `docs/operating.md` says can be restored, and is whole."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection

from apps.launcher.postgres_programs import wheel_folder
from apps.llm.operations import create_connection
from apps.search.indexing import index_messages
from config.env import ROOT
from tests.factories import UserFactory, make_character, make_chat
from tests.postgres import DATABASE

PROGRAMS = wheel_folder() / "pginstall18" / "bin"
RESTORED = f"{DATABASE}_restored"
TERMS = "SELECT count(terms), count(window_terms) FROM memories_passage"  # computed when they are restored
KEYS = "SELECT count(*) FROM llm_connection WHERE api_key <> ''"


def options_of(program: str) -> list[str]:
    """The options that the page gives a program, without those that name the database."""
    page = (ROOT / "docs" / "operating.md").read_text()
    command = re.search(rf" {program} (.*)", page)
    assert command is not None
    return [word for word in command[1].split() if re.match("--(?!username|dbname)", word)]


@pytest.mark.django_db(transaction=True)
def test_a_backup_can_be_restored(tmp_path: Path) -> None:
    owner = UserFactory()
    chat = make_chat(owner, "Where is the key?", "Under the stone.", character=make_character(owner))
    index_messages(owner, chat)
    create_connection(owner, name="A", base_url="http://127.0.0.1:9/v1", api_key="sk-secret")
    given = connection.get_connection_params()
    server = [f"--host={given['host']}", f"--port={given['port']}", f"--username={given['user']}"]
    parameters = {name: given[name] for name in ("host", "port", "user")} | {"autocommit": True}
    dump = tmp_path / "loci.dump"

    with dump.open("wb") as target:
        command = [PROGRAMS / "pg_dump", *server, *options_of("pg_dump"), given["dbname"]]
        subprocess.run(command, stdout=target, check=True)
    with psycopg.connect(dbname="postgres", **parameters) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {RESTORED}")
        admin.execute(f"CREATE DATABASE {RESTORED}")
        try:
            command = [PROGRAMS / "pg_restore", *server, f"--dbname={RESTORED}", *options_of("pg_restore"), dump]
            subprocess.run(command, check=True)
            with psycopg.connect(dbname=RESTORED, **parameters) as restored:
                assert restored.execute("SELECT mes FROM chats_swipe ORDER BY id").fetchall() == [
                    ("Where is the key?",),
                    ("Under the stone.",),
                ]
                assert restored.execute(TERMS).fetchone() == (2, 2)
                assert restored.execute(KEYS).fetchone() == (1,)
                assert restored.execute("SELECT count(*) FROM pgmq.list_queues()").fetchone() >= (5,)
            checked = check_integrity(given, tmp_path)
        finally:
            admin.execute(f"DROP DATABASE {RESTORED} WITH (FORCE)")
    assert "BROKEN" not in checked
    assert checked.count("ok  ") == 14


def check_integrity(given: dict[str, str], home: Path) -> str:
    url = f"postgres://{given['user']}@{quote(given['host'], safe='')}:{given['port']}/{RESTORED}"
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "LOCI_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    command = [sys.executable, "manage.py", "check_integrity"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
