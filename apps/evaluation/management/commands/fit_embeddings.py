"""``manage.py fit_embeddings FILE …``: compute the mean vectors of the multilingual embedding model."""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.builtin.worth.fitting import UnreadableSentences, read_sentences

PER_LANGUAGE = 120  # sentences
SEED = 20261127


class Command(BaseCommand):
    help = "Compute the multilingual model's mean vectors of sentences, a file or more for each language (de.txt)."

    def add_arguments(self, parser: CommandParser) -> None:
        from apps.llm.embeddings.multilingual import CENTRES

        parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
        parser.add_argument("--out", metavar="FILE", type=Path, default=CENTRES, help="default: those in use")

    def handle(self, *args: Any, files: list[Path], out: Path, **options: Any) -> None:
        from apps.llm.embeddings.multilingual import fit_centres

        texts: dict[str, list[str]] = defaultdict(list)
        chance = random.Random(SEED)  # noqa: S311
        try:
            for file in sorted(files):
                texts[file.stem.partition("_")[0]] += [each.text for each in read_sentences(file)]
            languages = [chance.sample(each, min(len(each), PER_LANGUAGE)) for each in texts.values()]
            fit_centres(languages, out)
        except (UnreadableSentences, OSError, UnicodeDecodeError, ImportError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"means of {sum(map(len, languages))} sentences in {len(languages)} languages: {out}")
