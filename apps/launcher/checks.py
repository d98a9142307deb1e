"""Check of the environment, run before Loci starts."""

import os
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from django.core.checks import Warning, register

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
