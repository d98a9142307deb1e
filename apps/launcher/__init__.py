"""Runs a whole installation on one machine: ``manage.py up``, a process supervisor and an embedded Postgres server.

The modules besides the command know nothing of Django apps; settings and tests start the embedded server too.
"""
