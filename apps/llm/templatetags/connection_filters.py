"""Template filters for addresses and numbers."""

from urllib.parse import urlsplit

from django import template
from django.utils.formats import number_format

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
