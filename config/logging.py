"""Logging through structlog: one line of JSON an event, or coloured text on a terminal."""

import logging
from typing import Any

import structlog

SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]

# Tasks that the scheduler sends all day long, and whose success is no news.
ROUTINE_TASKS = {"apps.common.tasks.record_heartbeat", "apps.memories.tasks.sweep_runs"}


def is_news(record: logging.LogRecord) -> bool:
    """Whether a record of Celery's task log is worth a line."""
    name = record.args.get("name") if isinstance(record.args, dict) else None
    return record.levelno >= logging.WARNING or name not in ROUTINE_TASKS


def configure_structlog() -> None:
    """Send structlog's own loggers through the standard library, so that both end up in one format."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def logging_settings(level: str, log_format: str) -> dict[str, Any]:
    """The `LOGGING` dictionary; `log_format` is `json` or `console`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": formatter(
                structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)
            ),
            "console": formatter(structlog.dev.ConsoleRenderer()),
        },
        "filters": {"news": {"()": lambda: is_news}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": log_format}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": []},
            "django.server": {"handlers": [], "propagate": True},
            # One line a task, from Celery's own log, is enough.
            "celery.app.trace": {"filters": ["news"]},
            "celery.beat": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "django_structlog.celery": {"level": "WARNING"},
        },
    }


def formatter(*renderers: Any) -> dict[str, Any]:
    """One formatter for records of structlog and of the standard library alike."""
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        "foreign_pre_chain": SHARED_PROCESSORS,
    }
