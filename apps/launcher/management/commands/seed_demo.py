"""``manage.py seed_demo``: load the demo."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.launcher.demo import seeding


class Command(BaseCommand):
    """Load the missing parts of the demo. Do nothing if it is complete."""

    help = "Load the demo: an account with two original stories, their memories and recalls."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reset", action="store_true", help="delete the demo's chats first")

    def handle(self, *args: Any, reset: bool, **options: Any) -> None:
        if reset:
            seeding.delete_demo()
        try:
            for step in seeding.seed_demo():
                self.stdout.write(step)
        except seeding.ExtractionFailed as error:
            raise CommandError(str(error)) from error
