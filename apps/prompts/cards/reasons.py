"""Say in the reader's language why something was recalled: recalls store it in English, as the API has it."""

import re

from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _

from apps.common.words import Words

SEPARATOR = " · "
REASONS: dict[str, Words] = {
    "pinned": _("pinned"),
    "shares its words": _("shares its words"),
    "always included": _("always included"),
    "repairs a contradiction": _("repairs a contradiction"),
}
FORMS: tuple[tuple[str, Words], ...] = (
    (r"names (?P<names>.+)", _("names %(names)s")),
    (r"triggered by (?P<names>.+)", _("triggered by %(names)s")),
    (r"said in “(?P<title>.+)”", _("said in “%(title)s”")),
    (r"similar (?P<likeness>[\d.]+)", _("similar %(likeness)s")),
)


def shown_reasons(why: str) -> str:
    """Return reasons that are joined by a middle dot, each in the language of the page."""
    return why if get_language() == "en" else SEPARATOR.join(map(_shown, why.split(SEPARATOR)))


def _shown(reason: str) -> str:
    if match := re.fullmatch(r"said ([\d,]+) messages? ago", reason):
        count = int(match[1].replace(",", ""))
        return ngettext("said %(count)s message ago", "said %(count)s messages ago", count) % {"count": count}
    for form, words in FORMS:
        if match := re.fullmatch(form, reason):
            return str(words) % {name: _joined(value) for name, value in match.groupdict().items()}
    return str(REASONS.get(reason, reason))


def _joined(names: str) -> str:
    first, word, last = names.rpartition(" and ")
    return f"{first}{gettext(' and ')}{last}" if word else names
