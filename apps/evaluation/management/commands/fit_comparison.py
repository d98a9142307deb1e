"""``manage.py fit_comparison FILE …``: learn the weight of each feature from labelled pairs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.english.comparison.weighing import WEIGHTS, fit_weights
from apps.english.regression import write
from apps.evaluation.datasets import UnusableDataset
from apps.evaluation.json_lines import read_json_lines
from apps.evaluation.supersession import pair_of
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder


class Command(BaseCommand):
    help = "Fit weights to labelled pairs (JSONL, as for evaluate --format supersession) and write them to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
        parser.add_argument("--out", metavar="FILE", type=Path, default=WEIGHTS, help="default: the weights in use")

    def handle(self, *args: Any, files: list[Path], out: Path, **options: Any) -> None:
        try:
            pairs = [pair_of(value, line) for file in files for line, value in read_json_lines(file)]
            model = fit_weights(
                [(pair.existing, pair.candidate, pair.kind) for pair in pairs],
                [pair.expected for pair in pairs],
                get_embedder().embed,
            )
            write(model, out)
        except (UnusableDataset, OSError, EmbeddingUnavailable) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{len(model.names)} features, learned from {len(pairs)} pairs: {out}")
