"""Logs and metrics."""

import sys

from config.env import env
from config.logging import configure_structlog, default_format, logging_settings
from config.variables import Group

METRICS_TOKEN = env.str(
    "METRICS_TOKEN",
    group=Group.METRICS,
    help="The token with which `/metrics` is read (`Authorization: Bearer …`), in the text format of Prometheus. "
    "Without one nothing is counted, and there is no such page. See [operating.md](operating.md).",
)
LOG_FORMAT = env.choice(
    "LOG_FORMAT",
    ["console", "json"],
    default=default_format(sys.stderr),
    shown="`json` into a file, else `console`",
    group=Group.LOGS,
    help="`json`: one JSON object a line, for machines, as in the container image; `console`: text, coloured on a "
    "terminal.",
)
_level = env.choice(
    "LOG_LEVEL",
    ["DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL"],
    default="INFO",
    group=Group.LOGS,
    help="The least severe level that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR`.",
)
configure_structlog()
LOGGING = logging_settings(level=_level, log_format=LOG_FORMAT)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = False  # anybody could write into the log, or reuse another's id
