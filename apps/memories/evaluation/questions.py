"""``--format locomo|stores``: how well the search finds what answers the questions of a data set."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.memories.evaluation import report as reports
from apps.memories.evaluation.datasets import FORMATS, Store, UnusableDataset
from apps.memories.evaluation.runs import run


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


def read_json(file: Path) -> Any:
    """The JSON value of a file. Raises UnusableDataset, OSError."""
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UnusableDataset(f"it is not JSON: {error}") from None


table = reports.table
