"""``manage.py fit_sentences FILE …``: learn which sentences are worth remembering from labelled ones."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.builtin.worth.fitting import UnreadableSentences, fit, read_sentences, with_joined
from apps.builtin.worth.model import WEIGHTS


class Command(BaseCommand):
    help = "Fit weights to labelled sentences, a file for each language, and write them to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
        parser.add_argument("--out", metavar="FILE", type=Path, default=WEIGHTS, help="default: the weights in use")

    def handle(self, *args: Any, files: list[Path], out: Path, **options: Any) -> None:
        try:
            sentences = [one for file in sorted(files) for one in with_joined(read_sentences(file))]
            fit(sentences).save(out)
        except (UnreadableSentences, OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"learned from {len(sentences)} sentences of {len(files)} files: {out}")
