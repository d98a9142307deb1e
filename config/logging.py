"""Logging with structlog: a line of text for each event, coloured on a terminal, or of JSON for machines."""

import logging
import os
import re
import stat
import sys
from typing import Any

import structlog

# Secrets in paths: the keys of links that reset a password, confirm an address or invite somebody.
SECRET_PATH = re.compile(r"(/accounts/(?:password/reset/key|confirm-email|invitation)/)[^/\s\"]+")


def redact_paths(logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Remove the queries and secrets of paths from a record of a request."""
    for name in ("event", "request"):
        if isinstance(text := event.get(name), str) and "/" in text:
            event[name] = SECRET_PATH.sub(r"\1…", text)
    if "request" in event:
        event["request"] = str(event["request"]).partition("?")[0]
    return event


SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    redact_paths,
]

# Tasks that the scheduler sends every few minutes or more often. Their success is not logged.
ROUTINE_TASKS = {
    "apps.snapshots.tasks.mirror_chats",
    "apps.snapshots.tasks.sweep_snapshots",
    "apps.chats.tasks.sweep_import_jobs",
    "apps.moderation.tasks.sweep_scans",
    "apps.extraction.tasks.sweep_chats",
    "apps.extraction.tasks.sweep_jobs",
    "apps.extraction.tasks.sweep_runs",
    "apps.replies.tasks.sweep_generations",
    "apps.webhooks.tasks.sweep_deliveries",
}

# Paths of health probes. Their requests, one every few seconds, are not logged.
PROBE_PATHS = ("/healthz/", "/readyz/")


def is_not_probe(record: logging.LogRecord) -> bool:
    """Return False for a record of the request log about a health probe, else True."""
    subject = record.msg.get("request", "") if isinstance(record.msg, dict) else record.getMessage()
    return not subject.endswith(PROBE_PATHS)


def is_not_routine(record: logging.LogRecord) -> bool:
    """Return False for a record of Celery's task log about the success of a routine task, else True."""
    name = record.args.get("name") if isinstance(record.args, dict) else None
    return record.levelno >= logging.WARNING or name not in ROUTINE_TASKS


def configure_structlog() -> None:
    """Route structlog's loggers through the standard library, so that all records have one format."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def default_format(stream: Any) -> str:
    """Return ``json`` for a stream that goes into a file, else ``console``: people read a terminal, or its pipe."""
    try:
        is_file = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):  # there is no stream, or it has no file descriptor
        return "console"
    return "json" if is_file else "console"


def is_terminal(stream: Any) -> bool:
    """Return whether a stream goes to a terminal."""
    return stream is not None and stream.isatty()


def logging_settings(level: str, log_format: str) -> dict[str, Any]:
    """Return the ``LOGGING`` setting. ``log_format`` is ``json`` or ``console``."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": formatter(
                structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)
            ),
            "console": formatter(structlog.dev.ConsoleRenderer(colors=is_terminal(sys.stderr))),
        },
        "filters": {"no-routine": {"()": lambda: is_not_routine}, "no-probe": {"()": lambda: is_not_probe}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": log_format}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": []},
            "django.request": {"filters": ["no-probe"]},
            "django_structlog.middlewares.request": {"filters": ["no-probe"]},
            "django.server": {"handlers": [], "propagate": True},
            # Celery's trace log has one line for each task; the loggers below would repeat it.
            "celery.app.trace": {"filters": ["no-routine"]},
            "celery.beat": {"level": "WARNING"},
            "celery.worker.consumer.connection": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "django_structlog.celery": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},  # would log the addresses of users' connections
        },
    }


def formatter(*renderers: Any) -> dict[str, Any]:
    """Return a formatter for records of both structlog and the standard library."""
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        "foreign_pre_chain": SHARED_PROCESSORS,
    }
