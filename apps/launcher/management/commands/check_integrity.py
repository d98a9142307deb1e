"""``manage.py check_integrity [--repair]``: check what the database itself can't promise."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.launcher.integrity.checks import run_checks

NAMED = 10  # of what was found by one check, on the terminal


class Command(BaseCommand):
    """Report what breaks a promise, and repair it if asked to. The exit status says whether something is left."""

    help = "Check positions, counts, links, files and vectors. Loci may run meanwhile; make a backup before a repair."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="Repair what can be repaired.")

    def handle(self, *args: Any, repair: bool, **options: Any) -> None:
        left = 0
        for check, found, is_repaired in run_checks(repair=repair):
            state = "ok" if not found else "repaired" if is_repaired else "BROKEN"
            self.stdout.write(f"{state:8}  {check.promise}" + (f"  {len(found)}:" if found else ""))
            for name in found[:NAMED]:
                self.stdout.write(f"          {name}")
            left += bool(found) and not is_repaired
        if left:
            raise CommandError(f"{left} promises are broken." + ("" if repair else " --repair repairs what it can."))
