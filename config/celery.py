"""The Celery application; its settings are the `CELERY_` ones of Django's settings."""

import os
import warnings

from celery import Celery
from celery.signals import setup_logging, worker_ready
from django.conf import settings
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# The warning is about pickled messages; ours are JSON.
warnings.filterwarnings("ignore", message="You're running the worker with superuser privileges")

app = Celery("loci")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(**kwargs: object) -> None:
    """Stop Celery from replacing the logging that Django's settings describe."""
    from logging.config import dictConfig

    dictConfig(settings.LOGGING)


@worker_ready.connect
def show_up(**kwargs: object) -> None:
    """Ask for a first sign of life at once, not only when beat's first interval is over."""
    app.send_task("apps.common.tasks.record_heartbeat")
