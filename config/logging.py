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

# What the scheduler sends all day long, and whose success is no news.
ROUTINE_TASKS = {"apps.extraction.tasks.sweep_runs"}

# What probes ask for every few seconds; they report on the answers themselves.
ROUTINE_REQUESTS = ("/healthz/", "/readyz/")


def is_no_probe(record: logging.LogRecord) -> bool:
    """Whether a record of the request log is about more than a health check."""
    subject = record.msg.get("request", "") if isinstance(record.msg, dict) else record.getMessage()
    return not subject.endswith(ROUTINE_REQUESTS)


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
        "filters": {"news": {"()": lambda: is_news}, "no-probe": {"()": lambda: is_no_probe}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": log_format}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": []},
            "django.request": {"filters": ["no-probe"]},
            "django_structlog.middlewares.request": {"filters": ["no-probe"]},
            "django.server": {"handlers": [], "propagate": True},
            # One line a task, from Celery's own log, is enough.
            "celery.app.trace": {"filters": ["news"]},
            "celery.beat": {"level": "WARNING"},
            "celery.worker.consumer.connection": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "django_structlog.celery": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},  # the addresses that people connect are theirs
        },
    }


def formatter(*renderers: Any) -> dict[str, Any]:
    """One formatter for records of structlog and of the standard library alike."""
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        "foreign_pre_chain": SHARED_PROCESSORS,
    }
