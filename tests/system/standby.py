"""A replica of the tests' Postgres that streams from it, as `DATABASE_REPLICA_URL` names one."""

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from django.db import connection

from apps.launcher import postgres_cluster
from apps.launcher.embedded_postgres import TEST_SETTINGS, postmaster
from apps.launcher.postgres_cluster import Cluster, execute, find_or_create, make_private, write_private
from tests.postgres import CLUSTER_HOME

RULE = "local replication all peer map=loci\n"


class Standby:
    """A running replica. It can be killed, started again, and held where it is."""

    def __init__(self, primary: Cluster, folder: Path) -> None:
        self.cluster = Cluster(folder, primary.user, primary.programs)
        self.host = str(folder)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"host": self.host, "port": 5432, "user": "loci", "dbname": connection.settings_dict["NAME"]}

    @property
    def url(self) -> str:
        return f"postgres://loci@{quote(self.host, safe='')}:5432/{connection.settings_dict['NAME']}"

    def start(self) -> None:
        options = {
            "listen_addresses": "",
            "unix_socket_directories": self.host,
            "fsync": "off",
            "shared_buffers": "16MB",
            "max_connections": TEST_SETTINGS["max_connections"],  # a replica refuses to start with fewer
        }
        words = shlex.join(part for name, value in options.items() for part in ("-c", f"{name}={value}"))
        command = ["--wait", "--silent", "--pgdata", self.cluster.data, "--log", self.cluster.log, "--options", words]
        execute(self.cluster, "pg_ctl", "start", *command)

    def kill(self) -> None:
        """As when its machine loses power."""
        process = postmaster(self.cluster)
        if process is not None:
            children = process.children()
            process.kill()
            for each in (process, *children):
                each.wait()
            (self.cluster.data / "postmaster.pid").unlink(missing_ok=True)

    def execute(self, sql: str, *values: Any) -> Any:
        """Return the first column of the first row, as the superuser sees it."""
        with psycopg.connect(**self.parameters, autocommit=True) as own:
            row = own.execute(sql, values).fetchone()
        return row[0] if row else None


@contextmanager
def standby() -> Iterator[Standby]:
    """Copy the running server, and have the copy follow it."""
    primary = find_or_create(CLUSTER_HOME, durable=False)
    rules = primary.data / "pg_hba.conf"
    kept = rules.read_text()
    with tempfile.TemporaryDirectory(prefix="loci-replica-") as name:
        folder = Path(name)
        make_private(folder, primary.user)
        write_private(rules, RULE + kept)
        try:
            run_sql("SELECT pg_reload_conf()")
            copy = Standby(primary, folder)
            (folder / "postgres").mkdir()
            make_private(folder / "postgres", primary.user)
            server = ["--host", postgres_cluster.socket_folder(CLUSTER_HOME).resolve(), "--username", "loci"]
            options = ["--checkpoint", "fast", "--write-recovery-conf", "--no-sync", "--no-manifest"]
            execute(primary, "pg_basebackup", *server, *options, "--pgdata", copy.cluster.data)
            copy.start()
            yield copy
        finally:
            copy.kill()
            write_private(rules, kept)
            run_sql("SELECT pg_reload_conf()")


def run_sql(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
