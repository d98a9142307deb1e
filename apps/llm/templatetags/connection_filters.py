"""Template filters for addresses, numbers and times."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django import template
from django.utils import timezone
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def host(url: str) -> str:
    """Return host and port of a URL: "api.example.com:8443"."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


@register.filter
def thousands(value: int) -> str:
    """Format with thousands separators: 1116 as "1,116"."""
    return f"{value:,}"


@register.filter
def ago(moment: datetime) -> str:
    """Return the time since ``moment``: "3 hours ago", or "just now" if it is less than a minute."""
    now = timezone.now()
    return f"{timesince(moment, now)} ago" if now - moment >= timedelta(minutes=1) else "just now"
