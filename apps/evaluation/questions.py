"""``--format locomo|stores``: measure how well the search finds the documents that answer questions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.evaluation.datasets import READERS, Store, UnusableDataset, read_json
from apps.evaluation.report import report_document
from apps.evaluation.runs import run


def evaluate_locomo(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    return report_document(run(load(file, "locomo"), report))


def evaluate_stores(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    return report_document(run(load(file, "stores"), report))


def load(file: Path, format: str) -> list[Store]:
    """Return the stores of a file. Raise UnusableDataset, OSError."""
    stores = READERS[format](read_json(file))
    if not any(store.queries for store in stores):
        raise UnusableDataset("no query has an answer among the documents.")
    return stores
