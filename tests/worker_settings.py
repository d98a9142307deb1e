"""Settings of processes that a test starts: those of the tests, on the test database itself."""

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, TEST_DATABASE

DATABASES["default"]["NAME"] = TEST_DATABASE
