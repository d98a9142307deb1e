"""Settings of a web server that serves collected static files, as in service."""

from config import settings
from tests.web_settings import *  # noqa: F403

STORAGES = settings.STORAGES
STATIC_ROOT = settings.LOCI_HOME / "collected"  # others look for the sources' files in the usual folder
WHITENOISE_USE_FINDERS = False
