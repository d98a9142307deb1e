"""Formats of ``manage.py evaluate``, each with the functions that measure a file and print the results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.evaluation import extraction, passages, questions, report, scenes, supersession, verdicts


@dataclass(frozen=True)
class Evaluation:
    """The functions of one format.

    ``evaluate`` reads a file, calls its second argument with progress lines, and returns figures as JSON. It raises
    UnusableDataset for a file that is not in the format, and OSError. ``table`` formats the figures as text.
    """

    evaluate: Callable[[Path, Callable[[str], None]], dict[str, Any]]
    table: Callable[[dict[str, Any]], str]


EVALUATIONS: Mapping[str, Evaluation] = {
    "extraction": Evaluation(extraction.evaluate, extraction.table),
    "locomo": Evaluation(questions.evaluate_locomo, report.table),
    "passages": Evaluation(passages.evaluate, passages.table),
    "scenes": Evaluation(scenes.evaluate, scenes.table),
    "stores": Evaluation(questions.evaluate_stores, report.table),
    "supersession": Evaluation(supersession.evaluate, supersession.table),
    "verdicts": Evaluation(verdicts.evaluate, verdicts.table),
}
