"""``manage.py rotate_keys``: encrypt the stored keys of connections with the current SECRET_KEY."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.llm.key_rotation import rotate_keys


class Command(BaseCommand):
    """Encrypt all keys again, so that former secrets can be removed from SECRET_KEY_FALLBACKS."""

    help = "Encrypt the keys of connections with the current SECRET_KEY. Former ones stand in SECRET_KEY_FALLBACKS."

    def handle(self, *args: Any, **options: Any) -> None:
        result = rotate_keys()
        self.stdout.write(f"{result.sealed} keys are encrypted with the current SECRET_KEY.")
        if result.changed:
            self.stdout.write(f"{result.changed} were changed meanwhile, and are encrypted with the one in use there.")
        if result.unreadable:
            raise CommandError(
                f"{result.unreadable} can't be read with any secret: name the one they were encrypted with in "
                "SECRET_KEY_FALLBACKS, or let their owners enter them again."
            )
