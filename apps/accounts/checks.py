"""Checks of the settings of accounts, run before Loci starts."""

from typing import Any

from django.conf import settings
from django.core.checks import Error, register

from apps.accounts.invitations import SIGN_UP_MODES
from apps.common.http.rate_limits import Rate


@register
def check_rates(**kwargs: Any) -> list[Error]:
    """Report rates that can't be read."""
    errors = []
    for scope, text in settings.RATE_LIMITS.items():
        try:
            Rate.parse(text)
        except ValueError as error:
            errors.append(Error(f"RATE_LIMIT_{scope.upper()}: {error}", id="accounts.E001"))
    return errors


@register
def check_sign_up(**kwargs: Any) -> list[Error]:
    """Report a mode of the sign-up that doesn't exist."""
    if settings.SIGN_UP in SIGN_UP_MODES:
        return []
    return [Error(f"SIGN_UP: {settings.SIGN_UP!r} is none of {', '.join(SIGN_UP_MODES)}.", id="accounts.E002")]
