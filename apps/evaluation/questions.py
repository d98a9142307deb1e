"""``--format locomo|stores``: how well the search finds what answers the questions of a data set."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.evaluation import report as reports
from apps.evaluation.datasets import FORMATS, Store, UnusableDataset, read_json
from apps.evaluation.runs import run


def evaluate_locomo(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    return reports.document(run(load(file, "locomo"), report))


def evaluate_stores(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    return reports.document(run(load(file, "stores"), report))


def load(file: Path, format: str) -> list[Store]:
    """The stores in a file. Raises UnusableDataset, OSError."""
    stores = FORMATS[format](read_json(file))
    if not any(store.queries for store in stores):
        raise UnusableDataset("no query has an answer among the documents.")
    return stores


table = reports.table
