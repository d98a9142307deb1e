"""Run a whole installation: ``manage.py up``, the supervisor of its processes, and the embedded Postgres."""
