"""The programs that an installation consists of, and the commands that start them."""

import sys

from django.conf import settings

from apps.launcher.supervisor import Service

PYTHON = sys.executable
CELERY = [PYTHON, "-m", "celery", "--quiet", "-A", "config"]
NICENESS = {"scheduled": 5, "extraction": 5, "models": 5, "indexing": 10}  # what users wait for comes first
KEEP_ALIVE = 75  # seconds that an idle connection stays open: longer than clients and proxies keep theirs, 5 to 60
# By default each thread gets a heap of its own, 16 on two processors, each of which keeps what was freed in it.
FEW_HEAPS = {"MALLOC_ARENA_MAX": "2"}
UNCHECKED = {"CELERY_SKIP_CHECKS": "1"}  # what runs before them has checked; it would load all pages
NO_POOL = {"DATABASE_POOL_SIZE": "0"}  # tasks use one connection, and a pool's threads do not survive a fork


def web() -> Service:
    """Return the web server."""
    options = ["--worker-class", "config.web_worker.WebWorker", "--asgi-lifespan", "off", "--no-control-socket"]
    host = f"[{settings.LOCI_HOST}]" if ":" in settings.LOCI_HOST else settings.LOCI_HOST
    options += ["--bind", f"{host}:{settings.LOCI_PORT}", "--log-level", "warning"]
    options += ["--workers", str(settings.WEB_CONCURRENCY), "--graceful-timeout", "5"]
    options += ["--keep-alive", str(KEEP_ALIVE)]
    command = [PYTHON, "-m", "gunicorn", *options, "config.asgi:application"]
    return Service("web", command, FEW_HEAPS, is_essential=True)


def worker(queue: str) -> Service:
    """Return the Celery worker of a queue, without its messages to other workers and monitors."""
    options = ["worker", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    options += ["--queues", queue, "--concurrency", str(concurrency(queue))]
    waits = queue in settings.WAITING_QUEUES
    options += ["--pool", "threads" if waits else "prefork"]
    environment = (FEW_HEAPS if waits else NO_POOL) | UNCHECKED
    return Service(f"{queue} worker", [*CELERY, *options], environment, NICENESS.get(queue, 0))


def concurrency(queue: str) -> int:
    """Return how many tasks the worker of a queue executes at once."""
    if queue in settings.WAITING_QUEUES:
        return settings.MODEL_PLACES
    return settings.WORKER_CONCURRENCY if queue in ("interactive", "extraction") else 1


def beat() -> Service:
    """Return the Celery scheduler, without a pid file."""
    return Service("beat", [*CELERY, "beat", "--pidfile="], NO_POOL | UNCHECKED)


def one_worker() -> Service:
    """Return the workers of all queues and the scheduler in one process, which gives way to the web server."""
    pool = {"DATABASE_POOL_SIZE": str(2 * settings.DATABASE_POOL_SIZE)}  # as many as two large processes have
    command = [PYTHON, "-m", "config.one_worker"]
    return Service("worker", command, FEW_HEAPS | UNCHECKED | pool, NICENESS["scheduled"])


def all_services() -> list[Service]:
    """Return what an installation consists of, in the form that the setting says."""
    if settings.LOCI_FORM == "small":
        return [one_worker(), web()]
    return [*(worker(queue) for queue in settings.QUEUES), beat(), web()]
