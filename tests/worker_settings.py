"""Settings of processes that a test starts: those of the tests, on the test database itself."""

from copy import deepcopy

from tests import settings
from tests.settings import *  # noqa: F403

# A copy: a test may import these settings too, and keeps its own.
DATABASES = deepcopy(settings.DATABASES)
DATABASES["default"]["NAME"] = settings.TEST_DATABASE
