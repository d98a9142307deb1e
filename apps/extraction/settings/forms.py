"""Form of the memory settings."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext

from apps.common.pages.settings_index import IndexedSetting
from apps.common.settings.setting_forms import SettingsForm
from apps.extraction.settings.schema import SETTINGS


class MemorySettingsForm(SettingsForm):
    """Form with a field for every memory setting."""

    settings = SETTINGS


def memory_settings() -> Iterator[IndexedSetting]:
    """Yield each memory setting with the place of its field on the user's page."""
    url = reverse("memory-settings:memory")
    for name, setting in SETTINGS.items():
        page = f"{gettext('Memory')}, {setting.group.title}"
        yield IndexedSetting(setting.label, setting.help, page, f"{url}#id_{name}")
