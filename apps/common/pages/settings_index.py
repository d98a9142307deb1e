"""Index of all settings, by which the page of settings finds one. Apps register what theirs has."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apps.common.registry import Registry
from apps.common.words import Words

MAX_FOUND = 10


@dataclass(frozen=True)
class IndexedSetting:
    """A setting, or a page of settings: what it is called, what it does, where it stands."""

    label: Words
    about: Words
    page: Words
    url: str

    def has(self, words: Iterable[str]) -> bool:
        """Return whether each of the words, in lower case, stands in the label, the sentence or the page's name."""
        text = f"{self.label} {self.about} {self.page}".casefold()
        return all(word in text for word in words)


indexed_settings: Registry[Callable[[], Iterable[IndexedSetting]]] = Registry()


def find_settings(query: str) -> list[IndexedSetting]:
    """Return the settings that have all words of the query, those with a word in the label first."""
    words = query.casefold().split()
    if not words:
        return []
    found = [setting for listed in indexed_settings for setting in listed() if setting.has(words)]
    found.sort(key=lambda setting: not any(word in str(setting.label).casefold() for word in words))
    return found[:MAX_FOUND]
