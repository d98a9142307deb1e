"""The project's settings, with a data folder and an embedded database of the test run's own."""

import os
import tempfile

# A data folder named here is kept, and shared by test runs, so that each starts faster.
TEST_HOME = os.environ.pop("LOCI_TEST_HOME", "")
os.environ["LOCI_HOME"] = TEST_HOME or tempfile.mkdtemp(prefix="loci-tests-")
if not TEST_HOME and os.geteuid() == 0:
    os.chmod(os.environ["LOCI_HOME"], 0o711)  # the user that runs Postgres has to pass through
os.environ["DATABASE_POOL_SIZE"] = "0"
os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 50)

from config.settings import *  # noqa: E402, F403
from config.settings import CELERY_BROKER_TRANSPORT_OPTIONS, DATABASES, STATIC_ROOT, STORAGES  # noqa: E402

# The broker's queues live in the database that the tests use.
TEST_DATABASE = "test_" + DATABASES["default"]["NAME"]
DATABASES["default"]["TEST"] = {"NAME": TEST_DATABASE}
if "conn_string" in CELERY_BROKER_TRANSPORT_OPTIONS:
    from psycopg.conninfo import make_conninfo

    CELERY_BROKER_TRANSPORT_OPTIONS["conn_string"] = make_conninfo(
        CELERY_BROKER_TRANSPORT_OPTIONS["conn_string"], dbname=TEST_DATABASE
    )

STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise complains about a missing folder
ALLOWED_HOSTS = ["*"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
STORAGES = STORAGES | {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Django's live server serves kept files from here: at the root they would hide the pages of imports.
MEDIA_URL = "media/"
# Scripted servers of models listen on the loopback.
LLM_ALLOWED_ADDRESSES = ["127.0.0.0/8"]
