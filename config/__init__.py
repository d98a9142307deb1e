"""Project settings and entry points: environment, URLs, ASGI, Celery, logging."""

import gc

# What is imported lives as long as the process: to look through it again and again took a seventh of the time that a
# command needs to start. AppConfig.ready of the launcher, the last one, turns the collector on again.
gc.disable()

from config.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
