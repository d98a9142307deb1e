"""Template filters for addresses, numbers and times."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django import template
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext

from apps.common.templatetags.languages import timesince_ago

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
    return str(number_format(value, use_l10n=True, force_grouping=True))


@register.filter
def ago(moment: datetime) -> str:
    """Return the time since ``moment``: "3 hours ago", or "just now" if it is less than a minute."""
    return timesince_ago(moment) if timezone.now() - moment >= timedelta(minutes=1) else gettext("just now")
