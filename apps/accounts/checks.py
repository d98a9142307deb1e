"""Checks of the settings of accounts, run before Loci starts."""

from typing import Any

from django.conf import settings
from django.core.checks import Error

from apps.accounts.sign_in.invitations import OPEN
from apps.common.http.rate_limits import Rate

SIGN_UP_HINT = "Set EMAIL_URL and EMAIL_VERIFICATION=mandatory, or SIGN_UP=invitation."


def check_rates(**kwargs: Any) -> list[Error]:
    """Report rates that can't be read."""
    errors = []
    rates = {**settings.RATE_LIMITS, **settings.SIGN_IN_RATES, "registrations": settings.REGISTRATION_RATE}
    for scope, text in rates.items():
        try:
            Rate.parse(text)
        except ValueError as error:
            errors.append(Error(f"RATE_LIMIT_{scope.upper()}: {error}", id="accounts.E001"))
    return errors


def check_sign_up(**kwargs: Any) -> list[Error]:
    """Report a mode of the sign-up that tells strangers which addresses have an account."""
    is_verified = settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory"
    if settings.SIGN_UP == OPEN and settings.REACHED_BY_OTHERS and not is_verified:
        message = "SIGN_UP: an open sign-up tells strangers who has an account, unless addresses are verified."
        return [Error(message, hint=SIGN_UP_HINT, id="accounts.E003")]
    return []
