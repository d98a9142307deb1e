"""``manage.py up``: run all of Loci in the foreground until Ctrl-C."""

import contextlib
import fcntl
import multiprocessing
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
from django.db import DatabaseError

from apps.accounts.operations import ensure_user
from apps.common.disk import free_megabytes
from apps.common.health import delete_heartbeats
from apps.common.pages.static_files import collect_if_changed
from apps.launcher import embedded_postgres, postgres_cluster, upgrades
from apps.launcher.disk import disk_check
from apps.launcher.postgres_programs import EmbeddedPostgresError
from apps.launcher.services import NICENESS, PYTHON, all_services
from apps.launcher.supervisor import (
    MAX_CRASHES,
    STOP_SIGNALS,
    Service,
    ServiceFailed,
    StopRequested,
    keep_running,
    look_after,
    print_status,
    spawn,
    stopping,
)

READY_TIMEOUT, READY_INTERVAL = 600, 0.25  # seconds: on an old or busy machine it takes minutes
RESTART_INTERVAL = 5.0  # seconds between two tries to start a database that did not
NO_SPACE = "The database has stopped, since the disk is full. It starts again once there is space; nothing is lost."
DEMO_LOADED = "The demo's stories are complete."
DEMO_FAILED = "The demo could not be loaded; see above. Loci runs without it, and tries again at its next start."


class Command(BaseCommand):
    """Migrate, load the demo, and run the web server, the workers and beat until a stop signal."""

    help = "Run all of Loci in the foreground: database, web server, workers and scheduler."
    requires_migrations_checks = False
    requires_system_checks = ()  # `prepare` makes them, whose memory is freed

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a stop signal. Raise CommandError."""
        with single_instance(settings.LOCI_HOME):
            refuse_busy_port(settings.LOCI_HOST, settings.LOCI_PORT)
            services = all_services()
            try:
                with stopping(services):
                    run(services)
            except StopRequested:
                print_status("Loci has stopped.")
            except ServiceFailed as error:
                raise CommandError(str(error)) from error
            finally:
                # Only the shutdown of the database remains, which must not be interrupted.
                for signum in STOP_SIGNALS:
                    signal.signal(signum, signal.SIG_IGN)


def run(services: Sequence[Service]) -> None:
    """Prepare the installation, start the services and keep them running."""
    print_status("Preparing the database …")
    in_child(prepare)
    print_status("Starting the web server and the workers …")
    for service in services:
        service.start()
    space = disk_check(settings.LOCI_HOME, settings.DISK_WARNING_MEGABYTES, print_status, free_megabytes)
    checks = [database_check(), space]
    wait_until_ready(services, checks)
    print_status(ready_message())
    with loading_demo() as demo_check:
        keep_running(services, [*checks, demo_check])


def in_child(function: Callable[[], None]) -> None:
    """Call a function in a copy of this process, whose memory is freed at its end. Raise CommandError if it fails."""
    process = multiprocessing.get_context("fork").Process(target=as_ordinary_process, args=(function,))
    process.start()
    try:
        process.join()
    finally:
        process.kill()
    if process.exitcode:
        raise CommandError("Loci could not be prepared; see above.")


def as_ordinary_process(function: Callable[[], None]) -> None:
    """Call a function with the usual effect of signals, and say of a CommandError only what it says."""
    for signum in STOP_SIGNALS:
        signal.signal(signum, signal.SIG_DFL)
    try:
        function()
    except (CommandError, EmbeddedPostgresError, DatabaseError) as error:
        sys.exit(str(error))


def prepare() -> None:
    """Check the settings, migrate, collect the static files, and make the account of the demo."""
    BaseCommand().check()
    begun = upgrades.begun(settings.LOCI_HOME)
    upgrades.trim_dumps(settings.LOCI_HOME)
    if settings.EMBEDDED_DATABASE and upgrades.is_upgrade() and not begun.exists():
        print_status("Keeping a copy of the data from before the upgrade …")
        print_status(f"  {upgrades.dump(settings.LOCI_HOME)}; `manage.py undo_upgrade` brings it back.")
        upgrades.note_begun(settings.LOCI_HOME)
    call_command("migrate", interactive=False, verbosity=0)
    begun.unlink(missing_ok=True)
    collect_if_changed()
    delete_heartbeats()
    if settings.DEMO:
        ensure_user(settings.DEMO_EMAIL, settings.DEMO_PASSWORD, name="Demo")


def database_check() -> Callable[[], None]:
    """Return a function that restarts the embedded database if it was killed.

    What keeps it from starting may pass, so it is tried again later: without space for any time, else MAX_CRASHES times
    before ServiceFailed is raised.
    """
    if not settings.EMBEDDED_DATABASE:
        return lambda: None
    next_try, failures, problem = 0.0, 0, ""

    def check() -> None:
        nonlocal next_try, failures, problem
        if time.monotonic() < next_try:
            return
        try:
            found = "" if embedded_postgres.restart_if_down(settings.LOCI_HOME) else NO_SPACE
            failures = 0
        except (EmbeddedPostgresError, OSError) as error:
            failures += 1
            if failures > MAX_CRASHES:
                raise ServiceFailed(f"The database cannot be started again: {error}") from error
            found = f"The database did not start, and is tried again: {error}"
        if found != problem:
            print_status(found or "The database runs again.")
        problem = found
        next_try = time.monotonic() + RESTART_INTERVAL if found else 0.0

    return check


@contextlib.contextmanager
def loading_demo() -> Iterator[Callable[[], None]]:
    """Load the demo in a child process while Loci runs. Yield a function that says so once when it has ended."""
    if not settings.DEMO or "seed_demo" not in get_commands():
        yield lambda: None
        return
    process = spawn([PYTHON, "manage.py", "seed_demo"], {}, niceness=NICENESS["scheduled"])
    said: list[str] = []

    def check() -> None:
        if not said and (status := process.poll()) is not None:
            said.append(DEMO_FAILED if status else DEMO_LOADED)
            print_status(said[0])

    try:
        yield check
    finally:
        process.kill()
        process.wait()


# Checks


@contextlib.contextmanager
def single_instance(home: Path) -> Iterator[None]:
    """Hold the lock of the data folder. Raise CommandError if another instance holds it."""
    postgres_cluster.prepare_home(home)
    with (home / "up.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"Loci is already running on the data folder {home}.") from None
        yield


def refuse_busy_port(host: str, port: int) -> None:
    """Raise CommandError if another program listens on the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {host}:{port} ({error.strerror}); choose another port with LOCI_PORT."
            ) from error


def wait_until_ready(services: Sequence[Service], checks: Sequence[Callable[[], None]]) -> None:
    """Keep the services running until the readiness probe succeeds.

    Raise ServiceFailed if one crashes too often or the time runs out.
    """
    deadline = time.monotonic() + READY_TIMEOUT
    while not is_ready():
        # One that takes long to crash never does so too often within CRASH_WINDOW.
        if time.monotonic() > deadline:
            raise ServiceFailed(f"Loci did not get ready: no answer within {READY_TIMEOUT} s; see the output above.")
        look_after(services, checks)
        time.sleep(READY_INTERVAL)


def is_ready() -> bool:
    """Return whether ``/readyz/`` responds with status 200."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.LOCI_HOST, settings.LOCI_HOST)  # noqa: S104
    request = urllib.request.Request(f"http://{host}:{settings.LOCI_PORT}/readyz/", headers={"Host": "localhost"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:  # noqa: S310
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def ready_message() -> str:
    """Return the message with the URL and the demo login, a block of its own between the lines of the log."""
    lines = [f"Loci is ready: {settings.LOCI_URL.rstrip('/')}/"]
    if settings.DEMO:
        lines += [f"  Demo login: {settings.DEMO_EMAIL}", f"  Password:   {settings.DEMO_PASSWORD}"]
        lines += ["  They stand here at each start. DEMO=off starts without the demo."]
        lines += ["  Its stories are read in the background when Loci is started for the first time."]
    return "\n".join(["", *lines, "  Ctrl-C stops it.", ""])
