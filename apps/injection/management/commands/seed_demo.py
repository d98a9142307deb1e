"""`manage.py seed_demo`: the demo, loaded once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.injection.demo import seeding


class Command(BaseCommand):
    """Load what is missing of the demo; done already, it does nothing."""

    help = "Load the demo: an account with an original story, extracted and recalled for real."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reset", action="store_true", help="delete the demo's chats first")

    def handle(self, *args: Any, reset: bool, **options: Any) -> None:
        if reset:
            seeding.remove()
        try:
            for step in seeding.seed():
                self.stdout.write(step)
        except seeding.ExtractionStuck as error:
            raise CommandError(str(error)) from error
