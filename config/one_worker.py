"""``python -m config.one_worker``: the workers of all queues and the scheduler, as threads of one process.

Each queue has a worker of Celery's with as many places as in a process of its own, so that none waits for another's
tasks, and owners take turns in each. Threads of long work give way to those of work that users wait for. The process
ends once one of them has ended, so that the supervisor starts it again.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Container
from contextlib import suppress
from threading import Event, Thread, get_ident, get_native_id
from time import monotonic
from types import FrameType
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from celery.app import trace
from celery.beat import Service as Beat
from celery.signals import task_postrun, task_prerun, worker_ready
from celery.worker import WorkController, state
from django.conf import settings

from apps.common.heap import give_back
from apps.launcher.services import NICENESS, concurrency
from config.celery import app, apply_niceness_to_session, configure_logging, make_app

SWITCH_INTERVAL = 0.001  # seconds that a task computes while another waits; by default five times as long
GIVE_BACK_INTERVAL = 60  # seconds
CHECK_INTERVAL = 5  # seconds; what hangs is delivered again a minute after its time limit
STOP_SECONDS = 30  # that tasks have to end, once the process is to end
ACKNOWLEDGE_SECONDS = 5  # that the broker has to take an acknowledgement, before the process ends without it
MAX_READS = 100  # attempts at the list of running tasks

logger = logging.getLogger(__name__)
# Of running tasks with a time limit, and their names, by id and thread: a task delivered again has the same id.
deadlines: dict[tuple[str, int], tuple[float, str]] = {}


class QueueWorker(WorkController):
    """Worker of one queue in a thread, which tells when it begins to accept tasks."""

    def __init__(self, queue: str) -> None:
        own = make_app(set_as_current=False)
        super().__init__(
            app=own,
            hostname=f"{queue}@loci",
            queues=queue,
            concurrency=concurrency(queue),
            pool="threads",
            use_eventloop=False,  # a process has one of Celery's event loops at most
            loglevel="INFO",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )

    def on_consumer_ready(self, consumer: Any) -> None:
        """Tell that the queue is served."""
        logger.info("%s ready.", self.hostname)
        worker_ready.send(sender=consumer)


@task_prerun.connect
def give_way(task: Any, **kwargs: object) -> None:
    """Lower the priority of the thread for good to what its queue has in the large form. Threads serve one queue each.

    Not below that: a task may hold the lock of a chat through hundreds of statements, and a web server with a higher
    priority waits for it. It can't be raised again without privileges. Only Linux has priorities of threads.
    """
    niceness = NICENESS.get(str((task.request.delivery_info or {}).get("routing_key")), 0)
    with suppress(OSError):
        if niceness > os.getpriority(os.PRIO_PROCESS, get_native_id()):
            os.setpriority(os.PRIO_PROCESS, get_native_id(), niceness)


@task_prerun.connect
def note_deadline(task_id: str, task: Any, **kwargs: object) -> None:
    """Note when a task must have ended: pools of threads have no time limits. What waits for models has its own."""
    limit = task.time_limit or app.conf.task_time_limit or 0
    if limit > 0 and (task.request.delivery_info or {}).get("routing_key") not in settings.WAITING_QUEUES:
        deadlines[task_id, get_ident()] = monotonic() + limit, task.name


@task_postrun.connect
def forget_deadline(task_id: str, **kwargs: object) -> None:
    """Forget when the task had to end."""
    deadlines.pop((task_id, get_ident()), None)


def end_if_overdue() -> None:
    """End the process if a running task has not ended in time, and give that task up, as large workers do.

    One that always hangs would else come again each time, and end the work of all queues. A job is claimed again by the
    sweeps, and fails once it has been claimed too often.
    """
    now = monotonic()
    overdue = {key[0]: name for key, (deadline, name) in list(deadlines.items()) if deadline < now}
    if overdue:
        named = ", ".join(f"{name} ({task_id})" for task_id, name in overdue.items())
        logger.critical("The worker ends, to start again: a task did not end in time: %s.", named)
        # In a thread, since what hangs may be the database, which has the queues.
        acknowledging = Thread(target=_acknowledge, args=(overdue,), daemon=True)
        acknowledging.start()
        acknowledging.join(ACKNOWLEDGE_SECONDS)
        os._exit(os.EX_SOFTWARE)


def _acknowledge(task_ids: Container[str]) -> None:
    """Take tasks that run from their queues."""
    running: list[Any] = []
    for _ in range(MAX_READS):
        with suppress(RuntimeError):  # the set changes while it is read: other tasks begin and end
            running = list(state.active_requests)
            break
    for request in running:
        if request.id in task_ids:
            request.acknowledge()


def run() -> int:
    """Work until a signal to stop, and then until the tasks at hand have ended. Return the exit status.

    A task that goes on beyond its time limit ends the process, since a thread can't be ended: its queue would serve
    nobody else. Its job is then claimed again, as after a crash.
    """
    apply_niceness_to_session()
    configure_logging()
    sys.setswitchinterval(SWITCH_INTERVAL)
    app.loader.import_default_modules()
    trace.setup_worker_optimizations(app, "loci")
    workers = [QueueWorker(queue) for queue in settings.QUEUES]
    beat = Beat(app, max_interval=1, scheduler_cls=app.conf.beat_scheduler)
    asked, ended = Event(), Event()

    def stop(signum: int, frame: FrameType | None) -> None:
        asked.set()
        ended.set()

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)
    parts = [*(worker.start for worker in workers), beat.start]
    threads = [Thread(target=_until_ended, args=(part, ended)) for part in parts]
    for thread in threads:
        thread.start()
    Thread(target=_load_embedding_model, name="warm-up", daemon=True).start()
    _watch_until(ended)
    state.should_stop = os.EX_OK
    beat.stop()
    # Also if it is asked to end: a supervisor that was killed can't end what hangs.
    deadline = monotonic() + STOP_SECONDS
    for thread in threads:
        thread.join(max(deadline - monotonic(), 0))
    if any(thread.is_alive() for thread in threads):
        os._exit(os.EX_SOFTWARE)  # a pool's threads would keep the process; others claim what has no heartbeat
    return os.EX_OK if asked.is_set() else os.EX_SOFTWARE


def _watch_until(ended: Event) -> None:
    given_back = monotonic()
    while not ended.wait(CHECK_INTERVAL):
        end_if_overdue()
        if monotonic() - given_back >= GIVE_BACK_INTERVAL:
            give_back()
            given_back = monotonic()


def _until_ended(part: Callable[[], object], ended: Event) -> None:
    try:
        part()
    finally:
        ended.set()


def _load_embedding_model() -> None:
    from apps.llm.embeddings import EmbeddingUnavailable, installation_embedder

    with suppress(EmbeddingUnavailable):  # said where it is needed
        installation_embedder()


if __name__ == "__main__":
    sys.exit(run())
