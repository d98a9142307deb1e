"""``manage.py evaluate FILE --format locomo|stores [--json]``: measure the search beside simpler ones."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.memories.evaluation.datasets import FORMATS, Store, UnusableDataset
from apps.memories.evaluation.report import document, table
from apps.memories.evaluation.runs import run


class Command(BaseCommand):
    help = "Measure how well the search finds what answers the questions of a data set. Nothing of it is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--format", choices=sorted(FORMATS), required=True)
        parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")

    def handle(self, *args: Any, file: Path, format: str, **options: Any) -> None:
        stores = load(file, format)
        results = document(run(stores, lambda line: self.stderr.write(line, style_func=str)))
        self.stdout.write(json.dumps(results, indent=2) if options["json"] else table(results))


def load(file: Path, format: str) -> list[Store]:
    """The stores in a file. Raises CommandError with the reason."""
    try:
        stores = FORMATS[format](json.loads(file.read_bytes()))
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}.") from None
    except UnusableDataset as error:
        raise CommandError(f"{file}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file} is not JSON: {error}") from None
    if not any(store.queries for store in stores):
        raise CommandError(f"{file}: no query has an answer among the documents.")
    return stores
