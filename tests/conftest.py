"""What every test may use: the embedded Postgres, a real Celery worker, a browser."""

import contextlib
import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from socketserver import StreamRequestHandler
from typing import Any, NoReturn

import pytest
from django.conf import settings
from django.db import connection, connections
from django.test import Client, TransactionTestCase, override_settings
from hypothesis import settings as hypothesis_settings
from kombu import pools
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer
from pytest_django.plugin import DjangoDbBlocker
from xdist.scheduler import LoadScopeScheduling

from apps.accounts.models import User
from apps.common.health import delete_heartbeats, queue_has_worker, record_heartbeat
from apps.launcher.services import web
from config.celery import app
from config.env import ROOT
from tests import postgres
from tests.costs import CostReporter
from tests.database import empty_tables
from tests.live_requests import keep_templates_apart, requests_under_way
from tests.patience import look_often
from tests.settings import TEST_HOME

# On a machine with two busy cores an example may take any time. The same code gets the same verdict each time;
# `pytest --hypothesis-profile=explore` tries other examples, and more of them.
hypothesis_settings.register_profile("loci", deadline=None, derandomize=True, max_examples=50)
hypothesis_settings.register_profile("explore", deadline=None, max_examples=500, print_blob=True)
hypothesis_settings.load_profile("loci")

look_often()

WITH_WORKERS = (
    "tests/common/test_worker.py",
    "tests/extraction/test_worker.py",
    "tests/replies/test_reply_api.py",
    "tests/replies/test_undone_deletions.py",
)
WORKER_TIMEOUT = 180  # seconds, on a busy machine
LAST_REQUESTS = 10.0  # seconds that the last requests of a page may take
KEPT_WORKERS: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}  # by the queues they take tasks from
IDLE = 3  # looks, one after the other, at which nobody is at work: then nothing is under way


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the data folder of this test run."""
    if not TEST_HOME:
        shutil.rmtree(settings.LOCI_HOME, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Have tests that commit clean up fast, keep them apart, and report what they cost."""
    keep_templates_apart()
    TransactionTestCase._fixture_teardown = empty_tables
    # Headers and body are sent one by one: on a connection that is used again, the body would wait 40 ms for the client
    # to confirm the headers.
    StreamRequestHandler.disable_nagle_algorithm = True
    config.pluginmanager.register(CostReporter())


def pytest_collection_finish() -> None:
    """Have the garbage collector leave alone what lasts for the whole run: modules and thousands of tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database of this process, instead of the one that pytest-django would migrate for each."""
    with postgres.server():
        with django_db_blocker.unblock():
            postgres.create_database()
        yield
        # The broker's connections too end before the database is dropped.
        app.close()
        pools.reset()
        connections.close_all()
        postgres.drop_database()


@pytest.fixture(scope="session", autouse=True)
def kept_vectors() -> None:
    """Have each batch of texts embedded once."""
    from tests.kept_vectors import keep_vectors

    keep_vectors()


@pytest.fixture
def connection_pool(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[None]:
    """Take connections from a pool, as the processes that serve requests do: of 8, or as many as a parameter says."""
    options = connections.settings["default"]["OPTIONS"]
    connection.close()
    options["pool"] = {"min_size": 1, "max_size": getattr(request, "param", 8), "timeout": 15}
    with connection.cursor():
        yield
    connection.close()
    connection.close_pool()
    del options["pool"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits for processes: begun last, it would keep one core waiting for the other.

    pytest-xdist runs one of the tests that share a name, and says nothing of the others.
    """
    names = Counter(item.nodeid for item in items)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise pytest.UsageError(f"Several tests have the name {repeated[0]}.")
    items.sort(key=lambda item: not item.get_closest_marker("worker"))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Give each file to one process, and all files with Celery workers to the same one, which starts them once."""
    return FileScheduling(config, log)


class FileScheduling(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "workers" if file in WITH_WORKERS else file


@pytest.fixture
def site(alice: User) -> Client:
    """A client that is signed in as the test module's Alice."""
    client = Client()
    client.force_login(alice)
    return client


# A real worker


@pytest.fixture
def start_celery_worker(transactional_db: None) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """A function that starts a Celery worker of some queues, or all, on the test database.

    What still runs is killed at the end.
    """
    started: list[subprocess.Popen[bytes]] = []
    app.control.purge()

    def start(*queues: str) -> subprocess.Popen[bytes]:
        started.append(run_worker(queues or settings.QUEUES))
        wait_for_heartbeat(started[-1], queues or settings.QUEUES)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def kept_celery_worker(transactional_db: None) -> Iterator[Callable[..., None]]:
    """A function that has a Celery worker of some queues, or all, at work, for tests that do no harm to it.

    It stays up from test to test, since most of such a test's time is its start, unless it has something left to do.
    The queues are purged before the test. What it writes before it calls the function has its tasks taken too.
    """

    app.control.purge()

    def start(*queues: str) -> None:
        chosen = queues or settings.QUEUES
        if KEPT_WORKERS.keys() - {chosen}:
            stop_kept_workers()
        if chosen in KEPT_WORKERS:
            record_heartbeat(chosen)
        else:
            KEPT_WORKERS[chosen] = run_worker(chosen)
            wait_for_heartbeat(KEPT_WORKERS[chosen], chosen)

    yield start
    if KEPT_WORKERS and not has_done_everything(queue for queues in KEPT_WORKERS for queue in queues):
        stop_kept_workers()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop kept workers before a test that does not ask for them: they would take its tasks."""
    if KEPT_WORKERS and "kept_celery_worker" not in getattr(nextitem, "fixturenames", ()):
        stop_kept_workers()


def stop_kept_workers() -> None:
    while KEPT_WORKERS:
        _, process = KEPT_WORKERS.popitem()
        process.kill()
        process.wait()


def has_done_everything(queues: Iterable[str]) -> bool:
    """Return whether soon no task of the queues waits or runs: its message is deleted once it has ended."""
    statement = " UNION ALL ".join(f"SELECT 1 FROM pgmq.q_{queue}" for queue in queues)
    for _ in range(20):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT EXISTS ({statement})")
            if not cursor.fetchone()[0]:
                return True
        time.sleep(0.05)
    return False


def run_worker(queues: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a worker of the queues, with the settings of the tests."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "LOCI_TEST_HOME": str(settings.LOCI_HOME),
        "LOG_LEVEL": "WARNING",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "celery", "--quiet", "-A", "config", "worker", "--queues", ",".join(queues)],
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def wait_for_heartbeat(worker: subprocess.Popen[bytes], queues: Sequence[str]) -> None:
    """Wait until the worker begins to take tasks of its queues."""
    delete_heartbeats()
    deadline = time.monotonic() + WORKER_TIMEOUT
    while not all(map(queue_has_worker, queues)):
        assert worker.poll() is None, "the worker has ended"
        assert time.monotonic() < deadline, "the worker does not take tasks"
        time.sleep(0.05)


# A real web server


class WebServer:
    """The web server as `manage.py up` runs it, on the test database; killed, it can be started again."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {
            "DJANGO_SETTINGS_MODULE": "tests.web_settings",
            "LOCI_TEST_HOME": str(settings.LOCI_HOME),
            "LOG_LEVEL": "ERROR",
        }
        with override_settings(LOCI_HOST="127.0.0.1", LOCI_PORT=self.port):
            command = web().command
        # In a session of its own, so that a kill reaches its worker processes too.
        self.process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, start_new_session=True)
        self._wait()

    def kill(self) -> None:
        """As when the machine loses power: nothing of it gets to say goodbye."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _wait(self) -> None:
        deadline = time.monotonic() + WORKER_TIMEOUT
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, "the web server has ended"
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/healthz/", timeout=WORKER_TIMEOUT).close()
                return
            time.sleep(0.05)
        pytest.fail("the web server does not answer")


@pytest.fixture(scope="session")
def kept_web_server(django_db_setup: None) -> Iterator[WebServer]:
    """A web server that stays up from test to test, since most of such a test's time is its start."""
    server = WebServer()
    yield server
    server.kill()


@pytest.fixture
def web_server(kept_web_server: WebServer, transactional_db: None) -> Iterator[WebServer]:
    """A running web server."""
    if kept_web_server.process is None:
        kept_web_server.start()
    yield kept_web_server
    wait_for_idle_database()


def wait_for_idle_database() -> None:
    """Wait until requests under way are done, lest they get in the way of the emptying of the tables."""
    others = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend' AND state <> 'idle'"""
    deadline = time.monotonic() + WORKER_TIMEOUT
    idle = 0
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(others)
            idle = 0 if cursor.fetchone()[0] else idle + 1
        if idle == IDLE:
            return
        time.sleep(0.02)
    pytest.fail(f"Requests were still under way after {WORKER_TIMEOUT} s.")


# A real browser


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's Chromium, without a sandbox, so that it runs as root too, and quiet on the network.

    Where it is installed, the shell without windows: it costs a third less CPU time.
    """
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        missing("Chromium is not installed (apt install chromium).")
    # Playwright's loop runs in our own thread, where Django would refuse to use the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    return {
        **browser_type_launch_args,
        "executable_path": chromium,
        "args": ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
    }


def missing(reason: str) -> NoReturn:
    """Skip, except where the browser tests have to run."""
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def page(page: Page, transactional_db: None) -> Iterator[Page]:
    """A page that is closed, and whose requests are answered, before the database is emptied."""
    yield page
    for opened in page.context.pages:
        opened.close()
    requests_under_way.wait_for_none(LAST_REQUESTS)
    wait_for_idle_database()


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any], live_server: LiveServer) -> dict[str, Any]:
    """Pages are given as paths below the live server: `page.goto("/")`."""
    return {**browser_context_args, "base_url": live_server.url}
