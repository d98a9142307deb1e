"""Run a whole installation on one machine: ``manage.py up``, a process supervisor and an embedded Postgres server.

The modules other than the command don't depend on other apps, since settings and tests start the server too.
"""
