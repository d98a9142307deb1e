"""The processes of an installation, run as ``manage.py up`` runs them on the database of the benchmarks."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import httpx
from django.test import override_settings

from apps.common.health import delete_heartbeats, queues_have_workers
from apps.launcher.services import all_services, one_worker, web
from apps.launcher.supervisor import Service

MAX_WAIT = 300.0  # seconds


@contextmanager
def installation(environment: Mapping[str, str] | None = None) -> Iterator[tuple[str, list[Service]]]:
    """Run web server, beat and workers in the form of LOCI_FORM. Yield URL and services once they are at work."""
    port = _free_port()
    with override_settings(LOCI_HOST="127.0.0.1", LOCI_PORT=port):
        services = all_services()
    with ExitStack() as stack:
        for service in services:
            stack.enter_context(_running(service, environment or {}))
        wait_until(lambda: queues_have_workers() and _is_up(port))
        yield f"http://127.0.0.1:{port}", services


@contextmanager
def small_worker(environment: Mapping[str, str]) -> Iterator[Service]:
    """Run the worker of the small form alone. Yield its service once it serves each queue."""
    service = one_worker()
    delete_heartbeats()
    with _running(service, environment):
        wait_until(queues_have_workers)
        yield service


@contextmanager
def web_server(environment: Mapping[str, str]) -> Iterator[tuple[str, Service]]:
    """Run the web server alone, of as many processes as ``environment`` says. Yield its URL and the service."""
    port, processes = _free_port(), int(environment["WEB_CONCURRENCY"])
    with override_settings(LOCI_HOST="127.0.0.1", LOCI_PORT=port, WEB_CONCURRENCY=processes):
        service = web()
    with _running(service, environment):
        wait_until(lambda: _is_up(port))
        yield f"http://127.0.0.1:{port}", service


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(service: Service, environment: Mapping[str, str]) -> Iterator[None]:
    variables = {**os.environ, **service.environment, **environment}
    process = subprocess.Popen(service.command, env=variables, start_new_session=True)
    # Not in the child before the program begins: a copy of this process, whose model has threads, would hang there.
    os.setpriority(os.PRIO_PROCESS, process.pid, min(os.getpriority(os.PRIO_PROCESS, 0) + service.niceness, 19))
    service.process = process
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _is_up(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz/", trust_env=False).is_success
    except httpx.TransportError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = MAX_WAIT) -> None:
    """Wait until the condition holds. Raise RuntimeError after some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"Nothing happened within {seconds:g} s.")
        time.sleep(0.1)
