"""Texts that are stored in one language and shown in another, such as the error of a job.

A stored text is an entry of the catalogue (its ``msgid``) with the values that are put into it. It becomes a sentence
when it is made and whenever it is loaded, each time in the language that is active then: a worker's error is English
in the API and German on a German page.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Self

from django.utils.translation import gettext, ngettext

PLACEHOLDER = re.compile(r"%(?:\((\w+)\)s|%)")


class StoredText(str):
    """Sentence in the active language that knows the entry and the values of which it is made.

    ``params`` are numbers, strings, and stored texts, which are translated too. With a ``plural``, ``count`` among
    them chooses the form.
    """

    msgid: str
    plural: str
    params: dict[str, Any]

    def __new__(cls, msgid: str, params: Mapping[str, Any] | None = None, plural: str = "") -> Self:
        values = {name: value if isinstance(value, int) else str(value) for name, value in (params or {}).items()}
        count = values.get("count")
        form = ngettext(msgid, plural, count) if plural and isinstance(count, int) else gettext(msgid)
        text = super().__new__(cls, _filled(form, values) if values else form)
        text.msgid, text.plural, text.params = msgid, plural, values
        return text

    def __str__(self) -> str:
        """Return the text itself, so that the ``str`` of an exception is still a stored text."""
        return self

    def mapped(self, change: Callable[[str], str]) -> Self:
        """Return the text with what ``change`` returns for each string among the values."""
        params = {name: change(value) if isinstance(value, str) else value for name, value in self.params.items()}
        return type(self)(self.msgid, params, self.plural)


def gettext_stored(msgid: str, /, **params: Any) -> StoredText:
    """Return an entry of the catalogue with values, to be shown now or stored."""
    return StoredText(msgid, params)


def ngettext_stored(singular: str, plural: str, count: int, /, **params: Any) -> StoredText:
    """Return the form of an entry for a number, which is the value ``count``, to be shown now or stored."""
    return StoredText(singular, {"count": count, **params}, plural)


def joined_texts(*texts: str) -> StoredText:
    """Return texts as one, with spaces between them. Each is translated by itself."""
    params = {f"text{number}": text for number, text in enumerate(texts)}
    return StoredText(" ".join(f"%({name})s" for name in params), params)


def msgid_of(text: str) -> str:
    """Return the entry of a stored text, which is the same in all languages. Another text is returned as it is."""
    return text.msgid if isinstance(text, StoredText) else text


def _filled(form: str, params: Mapping[str, Any]) -> str:
    """Return a form with its values. A placeholder without a value stays.

    Each value is put in once, so that no text of an uploaded archive can grow by repeating a placeholder.
    """
    left = dict(params)
    return PLACEHOLDER.sub(lambda found: str(left.pop(found[1], found[0])) if found[1] else "%", form)


def to_json(value: Any) -> Any:
    """Return a document in which objects stand for the stored texts."""
    if isinstance(value, StoredText):
        plural = {"plural": value.plural} if value.plural else {}
        return {"msgid": value.msgid, "params": to_json(value.params), **plural}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list) else value


def from_json(value: Any) -> Any:
    """Return a document with the stored texts of ``to_json``, in the active language."""
    match value:
        case {"msgid": str(msgid), "params": dict(params), **rest} if rest.keys() <= {"plural"}:
            return StoredText(msgid, from_json(params), str(rest.get("plural", "")))
        case dict():
            return {key: from_json(item) for key, item in value.items()}
        case list():
            return [from_json(item) for item in value]
    return value
