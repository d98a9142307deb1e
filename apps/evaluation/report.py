"""Format the results of an evaluation as a JSON document or as a table. Without database access."""

from collections.abc import Sequence
from typing import Any

from apps.evaluation.metrics import mean
from apps.evaluation.runs import METHODS, QueryResult


def report_document(query_results: Sequence[QueryResult]) -> dict[str, Any]:
    """Return the mean measures of each method: over all queries, by category and by store."""
    return {
        "methods": _by_method(query_results),
        "queries": len(query_results) // len(METHODS),
        "categories": _by_attribute(query_results, "category"),
        "stores": _by_attribute(query_results, "store"),
    }


def _by_method(query_results: Sequence[QueryResult]) -> dict[str, dict[str, float]]:
    means = {method: mean(result.measures for result in query_results if result.method == method) for method in METHODS}
    return {method: {name: round(value, 4) for name, value in row.items()} for method, row in means.items()}


def _by_attribute(query_results: Sequence[QueryResult], attribute: str) -> dict[str, dict[str, dict[str, float]]]:
    values = sorted({getattr(row, attribute) for row in query_results})
    return {value: _by_method([row for row in query_results if getattr(row, attribute) == value]) for value in values}


def table(results: dict[str, Any]) -> str:
    """Return the means over all queries as a table with a line for each method."""
    rows = results["methods"]
    names = list(next(iter(rows.values())))
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"{name:>11}" for name in names)]
    lines += [f"{method:<{width}}" + "".join(f"{row[name]:>11.3f}" for name in names) for method, row in rows.items()]
    return "\n".join([*lines, f"{results['queries']} queries"])
