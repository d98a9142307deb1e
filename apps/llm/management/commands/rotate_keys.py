"""``manage.py rotate_keys``: encrypt stored keys and second factors with the current SECRET_KEY."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.sign_in.second_factors import rotate_second_factors
from apps.llm.key_rotation import rotate_keys


class Command(BaseCommand):
    """Encrypt all keys again, so that former secrets can be removed from SECRET_KEY_FALLBACKS."""

    help = (
        "Encrypt keys of connections and second factors with the current SECRET_KEY. Former ones stand in "
        "SECRET_KEY_FALLBACKS."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        result = rotate_keys()
        factors, unreadable_factors = rotate_second_factors()
        self.stdout.write(f"{result.sealed} keys are encrypted with the current SECRET_KEY.")
        self.stdout.write(f"{factors} second factors are encrypted with it.")
        if result.changed:
            self.stdout.write(f"{result.changed} were changed meanwhile, and are encrypted with the one in use there.")
        if unreadable := result.unreadable + unreadable_factors:
            raise CommandError(
                f"{unreadable} can't be read with any secret: name the one they were encrypted with in "
                "SECRET_KEY_FALLBACKS, or let their owners enter them again."
            )
