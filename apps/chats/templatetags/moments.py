"""Moments as the list of chats shows them."""

import datetime as dt

from django import template
from django.template.defaultfilters import date
from django.utils import timezone

from apps.common import clock

register = template.Library()


@register.filter
def when(moment: dt.datetime) -> str:
    """The day of an aware moment, in as few words as say it: "today", "yesterday", "3 May", "3 May 2023"."""
    day, today = timezone.localdate(moment), timezone.localdate(clock.now())
    if day == today:
        return "today"
    if day == today - dt.timedelta(days=1):
        return "yesterday"
    return str(date(day, "j M" if day.year == today.year else "j M Y"))
