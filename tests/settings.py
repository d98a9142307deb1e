"""The project's settings, with a data folder and a database of the test process's own."""

import os
import tempfile

from tests.postgres import conninfo

# Processes that a test starts are given its data folder.
TEST_HOME = os.environ.pop("LOCI_TEST_HOME", "")
os.environ["LOCI_HOME"] = TEST_HOME or tempfile.mkdtemp(prefix="loci-tests-")
os.environ["DATABASE_URL"] = conninfo()
os.environ["DATABASE_POOL_SIZE"] = "0"
os.environ["EMBEDDING_THREADS"] = "1"  # the processes of a run share the cores
os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 50)

from config.settings import *  # noqa: E402, F403
from config.settings import LOGGING, STATIC_ROOT, STORAGES  # noqa: E402

STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise complains about a missing folder
# Rendering a line or two for each request costs more than many a request; what fails is logged as an error.
LOGGING["root"]["level"] = os.environ.get("LOG_LEVEL", "ERROR")
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
