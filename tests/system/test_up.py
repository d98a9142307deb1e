"""``manage.py up`` with real processes: readiness, restarts, clean stop."""

import signal
import socket
import time

import psutil
import pytest

from tests.system.processes import TIMEOUT, Installation
from tests.system.processes import installation as installation
from tests.system.test_database_restart import postmaster

pytestmark = pytest.mark.worker


def oldest_worker(installation: Installation) -> psutil.Process | None:
    """Return the worker that was started first: not one of its children, which it replaces without a word."""
    services = installation.services()
    workers = [p for p in services if "worker" in " ".join(installation.arguments(p)).split("gunicorn")[0]]
    return min(workers, key=psutil.Process.create_time, default=None)


@pytest.mark.parametrize("form", ["small", "large"])
def test_it_gets_ready_restarts_services_and_stops_completely(installation: Installation, form: str) -> None:
    installation.form = form
    installation.up()
    line = installation.wait_for("Loci is ready")
    assert f"http://127.0.0.1:{installation.port}/" in line
    assert installation.get("/readyz/") == 200
    assert installation.get("/accounts/login/") == 200

    worker = oldest_worker(installation)
    assert worker is not None
    worker.send_signal(signal.SIGKILL)
    installation.wait_for("worker was ended by SIGKILL")
    installation.wait_for("ready")

    # Without their supervisor the services end by themselves.
    assert installation.process is not None
    installation.process.kill()
    deadline = time.monotonic() + TIMEOUT
    while installation.services():
        assert time.monotonic() < deadline
        time.sleep(0.1)

    # What dies before all is ready comes back too.
    installation.up()
    installation.wait_for("Preparing the database")
    postmaster(installation).kill()
    installation.wait_for("The database was lost; preparing it again")
    installation.wait_for("Starting the web server")
    while not (worker := oldest_worker(installation)):
        time.sleep(0.01)
    worker.send_signal(signal.SIGKILL)
    postmaster(installation).kill()
    installation.wait_for("worker was ended by SIGKILL")
    installation.wait_for("Loci is ready")
    assert installation.stop() == 0
    assert installation.processes() == []


def test_a_busy_port_is_named(installation: Installation) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", installation.port))
        other.listen()
        installation.up()
        line = installation.wait_for("Cannot listen")

    assert str(installation.port) in line
    assert "LOCI_PORT" in line
