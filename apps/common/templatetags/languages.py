"""Template filters for words whose form depends on the language. Every template has them."""

from datetime import datetime, timedelta

from django import template
from django.contrib.humanize.templatetags.humanize import NaturalTimeFormatter
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import get_language, gettext

register = template.Library()

NOUNS_ARE_CAPITALIZED = {"de"}


@register.filter
def inside(label: str) -> str:
    """Return a label as it is written inside a sentence: "open" for "Open", unless the language capitalizes nouns."""
    return str(label) if get_language() in NOUNS_ARE_CAPITALIZED else str(label).lower()


@register.filter
def timesince_ago(moment: datetime) -> str:
    """Return the time since ``moment``: "3 hours ago", or "just now" if it is less than a minute."""
    if timezone.now() - moment < timedelta(minutes=1):
        return gettext("just now")
    time = timesince(moment, time_strings=NaturalTimeFormatter.past_substrings)
    return gettext("%(time)s ago") % {"time": time}
