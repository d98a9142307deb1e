"""``manage.py up``: run all of Loci in the foreground until Ctrl-C."""

import contextlib
import fcntl
import multiprocessing
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from apps.accounts.operations import ensure_user
from apps.common.database.errors import is_connection_lost
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
RESTART_INTERVAL = 5.0  # seconds between two tries to start a database that did not, or to prepare one that was killed
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
    check_database = database_check()
    prepare_again_if_lost(check_database)
    print_status("Starting the web server and the workers …")
    for service in services:
        service.start()
    space = disk_check(settings.LOCI_HOME, settings.DISK_WARNING_MEGABYTES, print_status, free_megabytes)
    checks = [check_database, space]
    wait_until_ready(services, checks)
    print_status(ready_message())
    with loading_demo() as demo_check:
        keep_running(services, [*checks, demo_check])


class DatabaseLost(CommandError):
    """The embedded database was killed, or has just been started again."""


def prepare_again_if_lost(check_database: Callable[[], None]) -> None:
    """Prepare the installation, MAX_CRASHES times more if the database is lost meanwhile. Raise CommandError.

    What was migrated until then stays, and the dump of before an upgrade is not made again.
    """
    for _ in range(MAX_CRASHES):
        with contextlib.suppress(DatabaseLost):
            in_child(prepare)
            return
        print_status("The database was lost; preparing it again.")
        time.sleep(RESTART_INTERVAL)
        check_database()
    in_child(prepare)


def in_child(function: Callable[[], None]) -> None:
    """Call a function in a copy of this process, whose memory is freed at its end. Raise CommandError if it fails."""
    process = multiprocessing.get_context("fork").Process(target=as_ordinary_process, args=(function,))
    process.start()
    try:
        process.join()
    finally:
        process.kill()
    if process.exitcode:
        is_lost = settings.EMBEDDED_DATABASE and (
            process.exitcode == os.EX_TEMPFAIL or not embedded_postgres.is_up_in(settings.LOCI_HOME)
        )
        raise (DatabaseLost if is_lost else CommandError)("Loci could not be prepared; see above.")


def as_ordinary_process(function: Callable[[], None]) -> None:
    """Call a function with the usual effect of signals, and say of a CommandError only what it says."""
    for signum in STOP_SIGNALS:
        signal.signal(signum, signal.SIG_DFL)
    try:
        function()
    except (CommandError, EmbeddedPostgresError, DatabaseError) as error:
        print_status(str(error))
        sys.exit(os.EX_TEMPFAIL if is_connection_lost(error) else 1)


def prepare() -> None:
    """Check the settings, migrate, collect the static files, and make the account of the demo."""
    BaseCommand().check()
    upgrades.trim_dumps(settings.LOCI_HOME)
    if settings.EMBEDDED_DATABASE and upgrades.is_upgrade() and not upgrades.has_dump_of_former_try(settings.LOCI_HOME):
        print_status("Keeping a copy of the data from before the upgrade …")
        print_status(f"  {upgrades.dump(settings.LOCI_HOME)}; `manage.py undo_upgrade` brings it back.")
        upgrades.note_begun(settings.LOCI_HOME)
    call_command("migrate", interactive=False, verbosity=0)
    upgrades.begun(settings.LOCI_HOME).unlink(missing_ok=True)
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
        if time.monotonic() > deadline:
            raise ServiceFailed(f"Loci did not get ready: no answer within {READY_TIMEOUT} s; see the output above.")
        look_after(services, checks, partial(Service.restart, window=READY_TIMEOUT))  # it may take long to crash
        time.sleep(READY_INTERVAL)


def is_ready() -> bool:
    """Return whether ``/readyz/`` responds with status 200."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.LOCI_HOST, settings.LOCI_HOST)  # noqa: S104
    host = f"[{host}]" if ":" in host else host
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
