"""Checks of the environment, run before Loci starts."""

import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from django.core.checks import Error, Warning, register
from django.urls import get_resolver

LIKENESS = 0.85  # LOCI_PROT is like LOCI_PORT; SECRET_KEY_BASE, which other programs read, is not like SECRET_KEY


@register
def check_variables(**kwargs: Any) -> list[Warning]:
    """Warn about variables that have nearly the name of one that the settings read: they have no effect."""
    known = {name for variable in settings.ENVIRONMENT_VARIABLES for name in (variable, f"{variable}_FILE")}
    meant = {name: get_close_matches(name, known, 1, LIKENESS) for name in sorted(os.environ.keys() - known)}
    return [
        Warning(f"{name} is read by nothing.", hint=f"Did you mean {match}?", id="launcher.W001")
        for name, matches in meant.items()
        for match in matches
    ]


@register
def check_admin_path(**kwargs: Any) -> list[Error]:
    """Report an address of the admin site that is none, or that takes the place of other pages."""
    path = settings.ADMIN_PATH
    if not re.fullmatch(r"([\w-]+/)+", path):
        return [Error(f"ADMIN_PATH: {path!r} is not a path such as admin/.", id="launcher.E001")]
    others = {settings.STATIC_URL.strip("/").partition("/")[0], *_first_parts(get_resolver().url_patterns)}
    first = path.partition("/")[0]
    if first in others:
        return [Error(f"ADMIN_PATH: other pages of Loci begin with {first}/.", id="launcher.E002")]
    return []


def _first_parts(patterns: Iterable[Any]) -> Iterator[str]:
    """Yield the first parts of the paths of all pages but those of the admin site."""
    for pattern in patterns:
        route = str(pattern.pattern)
        if not route and hasattr(pattern, "url_patterns"):
            yield from _first_parts(pattern.url_patterns)
        elif route not in (settings.ADMIN_PATH, f"{settings.ADMIN_PATH}installation/"):
            yield route.partition("/")[0]
