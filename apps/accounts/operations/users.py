"""Create users and change their profiles."""

from allauth.account.models import EmailAddress
from django.db import transaction

from apps.accounts.models import User


def edit_profile(user: User, *, name: str, time_zone: str = "", language: str = "") -> None:
    """Set the name and the language of a user, and the time zone if one is given."""
    user.name = name
    user.time_zone = time_zone or user.time_zone
    user.language = language
    user.save(update_fields=["name", "time_zone", "language"])


@transaction.atomic
def ensure_user(email: str, password: str, *, name: str = "") -> User:
    """Create the user with this address, or set their password. Mark the address as verified."""
    user = User.objects.filter(email__iexact=email).first() or User.objects.create_user(email, password, name=name)
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    EmailAddress.objects.get_or_create(user=user, email=user.email, defaults={"verified": True, "primary": True})
    return user
