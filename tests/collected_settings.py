"""Settings of a web server that serves collected static files, as in service: our own, and those that pages load.

Those of the admin site, but for the styles that ours import, and of the API's documentation are megabytes, whose
compression would take half a minute.
"""

from pathlib import Path

import django_htmx
from django.contrib import admin

from config import settings
from tests.web_settings import *  # noqa: F403

STORAGES = settings.STORAGES
STATIC_ROOT = settings.LOCI_HOME / "collected"  # others look for the sources' files in the usual folder
STATICFILES_DIRS = [
    *settings.STATICFILES_DIRS,
    Path(django_htmx.__file__).parent / "static",
    *((f"admin/{name}", Path(admin.__file__).parent / "static" / "admin" / name) for name in ("css", "img")),
]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
WHITENOISE_USE_FINDERS = False
