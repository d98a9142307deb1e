"""The Celery application; its settings are the `CELERY_` ones of Django's settings."""

import os
import warnings
from logging.config import dictConfig
from typing import Any

from celery import Celery, bootsteps
from celery.signals import celeryd_init, setup_logging, worker_init, worker_process_init, worker_ready
from django.conf import settings
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The warning is about pickled messages; ours are JSON.
warnings.filterwarnings("ignore", message="You're running the worker with superuser privileges")

PULSE_INTERVAL = 15  # seconds

app = Celery("loci")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


class Pulse(bootsteps.StartStopStep):
    """Notes a worker's heartbeat in its main process, since tasks may keep all others busy for minutes."""

    requires = {"celery.worker.components:Timer"}

    def start(self, worker: Any) -> None:
        self.timer = worker.timer.call_repeatedly(PULSE_INTERVAL, beat_once)

    def stop(self, worker: Any) -> None:
        self.timer.cancel()


app.steps["worker"] |= {DjangoStructLogInitStep, Pulse}


@worker_ready.connect
def beat_once(**kwargs: object) -> None:
    """Note that this worker is alive, first of all when it begins to take tasks."""
    # Models can be imported only when Django is set up, which the worker does after this module.
    from django.db import close_old_connections

    from apps.common.health import note_heartbeat

    note_heartbeat()
    close_old_connections()


@celeryd_init.connect
def declare_queue(**kwargs: object) -> None:
    """Let the worker's main process, and nobody else, declare the queue.

    To do so replaces the trigger that wakes it, which deadlocks with others who declare or publish.
    """
    app.amqp.queues[app.conf.task_default_queue].no_declare = False


@worker_init.connect
def load_before_forking(**kwargs: object) -> None:
    """Load once, for all of the worker's processes, what each would load at its first run."""
    import openai  # noqa: F401

    from apps.llm.tokens import get_token_counter

    get_token_counter()


@worker_process_init.connect
def leave_queue_alone(**kwargs: object) -> None:
    app.amqp.queues[app.conf.task_default_queue].no_declare = True


@setup_logging.connect
def keep_our_logging(**kwargs: object) -> None:
    """Stop Celery from replacing the logging that Django's settings describe."""
    dictConfig(settings.LOGGING)
