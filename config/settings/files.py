"""Static files, uploads, and the mirror of chats."""

from config.env import ROOT, mirror_storage
from config.settings.installation import LOCI_HOME

STATIC_URL = "static/"
STATIC_ROOT = LOCI_HOME / "static"
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "apps.common.pages.static_files.HashedStaticFiles"},
}
if mirror := mirror_storage():
    STORAGES["mirror"] = mirror
MEDIA_ROOT = LOCI_HOME / "media"
FILE_UPLOAD_DIRECTORY_PERMISSIONS, FILE_UPLOAD_PERMISSIONS = 0o700, 0o600
