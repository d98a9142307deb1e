"""Project settings and entry points: environment, URLs, ASGI, Celery, logging."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
