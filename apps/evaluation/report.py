"""Report the answers of an evaluation as a JSON document or as a table. Pure."""

from collections.abc import Sequence
from typing import Any

from apps.evaluation.metrics import mean
from apps.evaluation.runs import METHODS, Answer


def report_document(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the mean measures of each method: over all queries, by category and by store."""
    return {
        "methods": _by_method(answers),
        "queries": len(answers) // len(METHODS),
        "categories": _parts(answers, "category"),
        "stores": _parts(answers, "store"),
    }


def _by_method(answers: Sequence[Answer]) -> dict[str, dict[str, float]]:
    means = {method: mean(answer.measures for answer in answers if answer.method == method) for method in METHODS}
    return {method: {name: round(value, 4) for name, value in row.items()} for method, row in means.items()}


def _parts(answers: Sequence[Answer], attribute: str) -> dict[str, dict[str, dict[str, float]]]:
    values = sorted({getattr(answer, attribute) for answer in answers})
    return {value: _by_method([one for one in answers if getattr(one, attribute) == value]) for value in values}


def table(results: dict[str, Any]) -> str:
    """Return the means over all queries as a table with a line for each method."""
    rows = results["methods"]
    names = list(next(iter(rows.values())))
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"{name:>11}" for name in names)]
    lines += [f"{method:<{width}}" + "".join(f"{row[name]:>11.3f}" for name in names) for method, row in rows.items()]
    return "\n".join([*lines, f"{results['queries']} queries"])
