"""Celery application. Its settings are Django's settings that begin with ``CELERY_``."""

import gc
import os
import warnings
from contextlib import suppress
from logging.config import dictConfig
from pathlib import Path
from typing import Any

import kombu.transport
from celery import Celery, bootsteps
from celery.contrib.django.task import DjangoTask
from celery.signals import celeryd_init, setup_logging, task_postrun, worker_init, worker_process_init, worker_ready
from django.conf import settings

from apps.common.database.restriction import restricted_to

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The warning concerns pickled messages; ours are JSON.
warnings.filterwarnings("ignore", message="You're running the worker with superuser privileges")

HEARTBEAT_INTERVAL = 15  # seconds

kombu.transport.TRANSPORT_ALIASES["pgmq"] = "config.broker:Transport"


class RestrictedTask(DjangoTask):
    """Task that sees no rows of users in the database, until it names one whose rows it works on."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task."""
        with restricted_to(None):
            return super().__call__(*args, **kwargs)


class HeartbeatStep(bootsteps.StartStopStep):
    """Record heartbeats in the worker's main process, since tasks may occupy the others for minutes."""

    requires = {"celery.worker.components:Timer"}

    def start(self, worker: Any) -> None:
        """Start the timer."""
        self.timer = worker.timer.call_repeatedly(HEARTBEAT_INTERVAL, record_worker_heartbeat, (worker,))

    def stop(self, worker: Any) -> None:
        """Stop the timer."""
        self.timer.cancel()


def make_app(**options: Any) -> Celery:
    """Return an application with all tasks. It names the queues of a worker, so that each worker has its own."""
    made = Celery("loci", task_cls=RestrictedTask, **options)
    made.config_from_object("django.conf:settings", namespace="CELERY")
    made.autodiscover_tasks()
    made.steps["worker"] |= {"django_structlog.celery.steps:DjangoStructLogInitStep", HeartbeatStep}
    return made


app = make_app()


@worker_ready.connect
def record_worker_heartbeat(sender: Any, **kwargs: object) -> None:
    """Record that this worker serves its queues, for the first time when it begins to accept tasks."""
    # Models can only be imported after Django's setup, which the worker runs after importing this module.
    from django.db import close_old_connections

    from apps.common.health import record_heartbeat

    record_heartbeat(sender.app.amqp.queues.consume_from)
    close_old_connections()


@celeryd_init.connect
def apply_niceness_to_session(**kwargs: object) -> None:
    """Let this worker's session give way to others as far as its process does.

    Linux may share out processors by session first (autogroup), and then compares processes of one session only.
    """
    with suppress(OSError):  # there are none, as in containers
        Path("/proc/self/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))


@worker_init.connect
def load_before_forking(sender: Any, **kwargs: object) -> None:
    """Load large modules once before the fork, so that the worker's processes share their memory."""
    if sender.app is app and "extraction" in app.amqp.queues.consume_from:
        from apps.llm.tokens import load_encoding

        load_encoding()
    gc.freeze()  # the garbage collector would write to the shared pages, which copies them


@worker_process_init.connect
def load_embedding_model(**kwargs: object) -> None:
    """Load the embedding model where users wait for it. It has to be loaded after the fork, because of its threads."""
    if "interactive" in app.amqp.queues.consume_from:
        from apps.llm.embeddings import EmbeddingUnavailable, installation_embedder

        with suppress(EmbeddingUnavailable):
            installation_embedder()


@task_postrun.connect
def flush_metrics(**kwargs: object) -> None:
    """Add what the task counted to the metrics of the installation, every few seconds."""
    from apps.common.metrics import flush_if_due

    flush_if_due()


@setup_logging.connect
def configure_logging(**kwargs: object) -> None:
    """Configure logging from Django's settings instead of Celery's defaults."""
    dictConfig(settings.LOGGING)
