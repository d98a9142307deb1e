"""Template filters for dates in the list of chats."""

import datetime as dt

from django import template
from django.template.defaultfilters import date
from django.utils import timezone
from django.utils.translation import gettext

register = template.Library()


@register.filter
def short_date(moment: dt.datetime) -> str:
    """Format the local day of an aware datetime as briefly as possible: "today", "yesterday", "3 May", "3 May 2023"."""
    day, today = timezone.localdate(moment), timezone.localdate(timezone.now())
    if day == today:
        return gettext("today")
    if day == today - dt.timedelta(days=1):
        return gettext("yesterday")
    return str(date(day, gettext("j M") if day.year == today.year else gettext("j M Y")))
