"""Settings of a web server that a test starts: the tests', short waits, and a pool of connections as in service."""

from copy import deepcopy

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.short_waits.ShortWaits"]
WHITENOISE_USE_FINDERS = True
# A copy: a test may import these settings too, and keeps its own.
DATABASES = deepcopy(DATABASES)
DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 1, "max_size": 8}
