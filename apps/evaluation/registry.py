"""The formats of ``manage.py evaluate``: what measures each, and how its figures are printed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.evaluation import extraction, questions, scenes, supersession


@dataclass(frozen=True)
class Evaluation:
    """``evaluate`` reads a file, tells ``report`` how far it is, and returns figures that ``table`` prints.

    It raises UnusableDataset where the file is not in the format, and OSError.
    """

    evaluate: Callable[[Path, Callable[[str], None]], dict[str, Any]]
    table: Callable[[dict[str, Any]], str]


EVALUATIONS: Mapping[str, Evaluation] = {
    "extraction": Evaluation(extraction.evaluate, extraction.table),
    "locomo": Evaluation(questions.evaluate_locomo, questions.table),
    "scenes": Evaluation(scenes.evaluate, scenes.table),
    "stores": Evaluation(questions.evaluate_stores, questions.table),
    "supersession": Evaluation(supersession.evaluate, supersession.table),
}
