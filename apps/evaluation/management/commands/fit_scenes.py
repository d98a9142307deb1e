"""``manage.py fit_scenes FILE …``: learn the weights of the scene detector from passages with marked scenes."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.builtin.scene_breaks.detection import WEIGHTS
from apps.builtin.scene_breaks.learning import learn
from apps.evaluation.datasets import UnusableDataset
from apps.evaluation.json_lines import read_json_lines
from apps.evaluation.scenes import passage_of
from apps.llm.embeddings import EmbeddingUnavailable


class Command(BaseCommand):
    help = "Fit weights to labelled passages (JSONL, as for evaluate --format scenes) and write them to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
        parser.add_argument("--out", metavar="FILE", type=Path, default=WEIGHTS, help="default: the weights in use")

    def handle(self, *args: Any, files: list[Path], out: Path, **options: Any) -> None:
        try:
            passages = [passage_of(value, line) for file in files for line, value in read_json_lines(file)]
            model = learn([(passage.turns, passage.expected) for passage in passages])
            model.save(out)
        except (UnusableDataset, OSError, EmbeddingUnavailable) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{len(model.means)} inputs, learned from {len(passages)} passages: {out}")
