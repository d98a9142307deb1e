"""What commands that name a user share."""

from django.core.management.base import CommandError

from apps.accounts.models import User


def user_named(email: str) -> User:
    """Return the user with an e-mail address, in whatever case it is written. Raise CommandError if there is none."""
    try:
        return User.objects.get_by_natural_key(email)
    except User.DoesNotExist:
        raise CommandError(f"There is no user {email}.") from None
