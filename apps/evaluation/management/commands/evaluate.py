"""``manage.py evaluate FILE --format FORMAT [--json]``: measure a part of the memory engine against baselines."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.evaluation.datasets import UnusableDataset
from apps.evaluation.own_database import NoDatabase
from apps.evaluation.registry import EVALUATIONS


class Command(BaseCommand):
    help = "Measure search, deduplication, extraction or scene detection on a data set. Stores nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--format", choices=sorted(EVALUATIONS), required=True)
        parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")

    def handle(self, *args: Any, file: Path, format: str, **options: Any) -> None:
        evaluation = EVALUATIONS[format]
        try:
            results = evaluation.evaluate(file, lambda line: self.stderr.write(line, style_func=str))
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}.") from None
        except UnusableDataset as error:
            raise CommandError(f"{file}: {error}") from None
        except NoDatabase as error:
            raise CommandError(str(error)) from None
        self.stdout.write(json.dumps(results, indent=2) if options["json"] else evaluation.table(results))
