"""`manage.py up`: the whole of Loci in the foreground, until Ctrl-C."""

import contextlib
import fcntl
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from apps.common.health import forget_heartbeat
from apps.common.static_files import collect_if_changed
from apps.launcher import embedded_postgres
from apps.launcher.supervisor import Service, ServiceFailed, Stopped, keep_running, say, spawn, stopping

READY_TIMEOUT, READY_INTERVAL = 90, 0.25  # seconds
PYTHON = sys.executable
CELERY = [PYTHON, "-m", "celery", "--quiet", "-A", "config"]
NO_POOL = {"DATABASE_POOL_SIZE": "0"}  # a task has one connection, and a pool's threads do not outlive a fork


class Command(BaseCommand):
    """Migrate, load the demo, and run the web server, a worker and beat until told to stop."""

    help = "Run all of Loci in the foreground: database, web server, worker and scheduler."
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        with only_one(settings.LOCI_HOME):
            refuse_busy_port(settings.LOCI_HOST, settings.LOCI_PORT)
            services = [worker(), beat(), web()]
            try:
                with stopping(services):
                    run(services)
            except Stopped:
                say("Loci has stopped.")
            except ServiceFailed as error:
                raise CommandError(str(error)) from error
            finally:
                # What is left to do is to stop the database, which nothing may interrupt.
                for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(signum, signal.SIG_IGN)


def run(services: Sequence[Service]) -> None:
    """Prepare the installation, start everything, and watch over it."""
    call_command("migrate", interactive=False, verbosity=0)
    collect_if_changed()
    forget_heartbeat()
    connections.close_all()
    for service in services:
        service.start()
    seed_demo()
    wait_until_ready(services)
    say(ready_line())
    keep_running(services, also=database_watch())


# Services


def web() -> Service:
    """The ASGI web server; the number of its processes is gunicorn's own `WEB_CONCURRENCY`."""
    options = ["--worker-class", "config.web_worker.WebWorker", "--asgi-lifespan", "off", "--no-control-socket"]
    options += ["--bind", f"{settings.LOCI_HOST}:{settings.LOCI_PORT}", "--log-level", "warning"]
    options += ["--workers", str(settings.WEB_CONCURRENCY), "--graceful-timeout", "5"]
    return Service("web", [PYTHON, "-m", "gunicorn", *options, "config.asgi:application"])


def worker() -> Service:
    """The Celery worker, without the chatter between workers and to monitors."""
    options = ["worker", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    return Service("worker", [*CELERY, *options], NO_POOL)


def beat() -> Service:
    """The Celery scheduler; its schedule is static, so there is nothing to keep on disk."""
    return Service("beat", [*CELERY, "beat", "--pidfile="], NO_POOL)


def database_watch() -> Callable[[], None]:
    """A check that starts the embedded database again if it was killed."""
    if not settings.EMBEDDED_DATABASE:
        return lambda: None
    return lambda: embedded_postgres.revive(settings.LOCI_HOME)


def seed_demo() -> None:
    """Load the demo, in a process of its own, whose memory goes with it."""
    if not settings.DEMO or "seed_demo" not in get_commands():
        return
    process = spawn([PYTHON, "manage.py", "seed_demo"], {})
    try:
        if process.wait():
            raise CommandError("The demo could not be loaded; see above. DEMO=off starts without it.")
    finally:
        process.kill()
        process.wait()


# Checks


@contextlib.contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Refuse to run twice on the same data folder."""
    embedded_postgres.prepare_home(home)
    with (home / "up.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"Loci is already running on the data folder {home}.") from None
        yield


def refuse_busy_port(host: str, port: int) -> None:
    """Say at once that another program listens on our port, rather than fail late."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {host}:{port} ({error.strerror}); choose another port with LOCI_PORT."
            ) from error


def wait_until_ready(services: Sequence[Service]) -> None:
    """Wait for the installation's own word that it is ready; a service that dies meanwhile is the reason if not."""
    deadline = time.monotonic() + READY_TIMEOUT
    while not answers_ready():
        dead = [service.name for service in services if not service.alive]
        if dead or time.monotonic() > deadline:
            reason = f"{dead[0]} has stopped" if dead else f"no answer within {READY_TIMEOUT} s"
            raise ServiceFailed(f"Loci did not get ready: {reason}; see the output above.")
        time.sleep(READY_INTERVAL)


def answers_ready() -> bool:
    """Whether `/readyz/` says 200."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.LOCI_HOST, settings.LOCI_HOST)  # noqa: S104
    request = urllib.request.Request(f"http://{host}:{settings.LOCI_PORT}/readyz/", headers={"Host": "localhost"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:  # noqa: S310
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def ready_line() -> str:
    """Where to go, and how to log in to the demo."""
    line = f"Loci is ready: {settings.LOCI_URL.rstrip('/')}/"
    return f"{line}  demo login: {settings.DEMO_EMAIL} / {settings.DEMO_PASSWORD}" if settings.DEMO else line
