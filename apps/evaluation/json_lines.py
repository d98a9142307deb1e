"""Read JSON Lines. Without database access."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apps.evaluation.datasets import UnusableDataset


def read_json_lines(file: Path) -> list[tuple[int, Any]]:
    """Return the number, from 1, and the value of every line that is not blank. Raise UnusableDataset, OSError."""
    values = list(_values(file.read_bytes()))
    if not values:
        raise UnusableDataset("it contains no line.")
    return values


def _values(data: bytes) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise UnusableDataset(f"line {number} is not JSON: {error}") from None
