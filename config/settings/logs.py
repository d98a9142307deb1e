"""Logs and metrics."""

import sys

from config.env import env
from config.logging import configure_structlog, default_format, logging_settings

METRICS_TOKEN = env.str("METRICS_TOKEN", default="")  # empty: nothing is counted
configure_structlog()
LOG_FORMAT = env.str("LOG_FORMAT", default=default_format(sys.stderr))
LOGGING = logging_settings(level=env.str("LOG_LEVEL", default="INFO"), log_format=LOG_FORMAT)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = False  # anybody could write into the log, or reuse another's id
