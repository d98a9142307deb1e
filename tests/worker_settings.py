"""Settings of processes that a test starts: those of the tests, on the test database itself."""

from copy import deepcopy

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, TEST_DATABASE

# A copy: a test may import these settings too, and keeps its own.
DATABASES = deepcopy(DATABASES)
DATABASES["default"]["NAME"] = TEST_DATABASE
