"""Format the results of an evaluation as a JSON document or as a table. Without database access."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from apps.evaluation.metrics import interval, mean
from apps.evaluation.runs import METHODS, QueryResult

GROUPS = {"kinds": "kind", "languages": "language", "categories": "category", "stores": "store"}  # attributes by name
SHOWN_GROUPS = ("kinds", "languages")  # in the table


def report_document(query_results: Sequence[QueryResult]) -> dict[str, Any]:
    """Return the mean measures of each method: over all queries, by kind, language, category and store.

    ``intervals`` are half the width of the means' 95 % confidence intervals over the queries; ``group_intervals`` those
    of the groups, and ``group_queries`` how many queries they have.
    """
    groups = {name: _grouped(query_results, attribute) for name, attribute in GROUPS.items()}
    return {
        "methods": _by_method(query_results),
        "intervals": _by_method(query_results, interval),
        "queries": len(query_results) // len(METHODS),
        **{name: {value: _by_method(rows) for value, rows in group.items()} for name, group in groups.items()},
        "group_intervals": {
            name: {value: _by_method(rows, interval) for value, rows in group.items()} for name, group in groups.items()
        },
        "group_queries": {
            name: {value: len(rows) // len(METHODS) for value, rows in group.items()} for name, group in groups.items()
        },
    }


def _by_method(
    query_results: Sequence[QueryResult], summary: Callable[[Iterable[Mapping[str, float]]], dict[str, float]] = mean
) -> dict[str, dict[str, float]]:
    means = {m: summary(result.measures for result in query_results if result.method == m) for m in METHODS}
    return {method: {name: round(value, 4) for name, value in row.items()} for method, row in means.items()}


def _grouped(query_results: Sequence[QueryResult], attribute: str) -> dict[str, list[QueryResult]]:
    """Return the results by the value of an attribute, sorted."""
    values = sorted({getattr(row, attribute) for row in query_results})
    return {value: [row for row in query_results if getattr(row, attribute) == value] for value in values}


def table(results: dict[str, Any]) -> str:
    """Return the means with their intervals as a table: a line for each method, and one for each kind and language."""
    rows = [(method, row, results["intervals"][method]) for method, row in results["methods"].items()]
    for group in SHOWN_GROUPS:
        for value, by_method in results[group].items():
            label = f"{value} ({results['group_queries'][group][value]})"
            rows.append((label, by_method[METHODS[0]], results["group_intervals"][group][value][METHODS[0]]))
    names = list(rows[0][1])
    width = max(len(label) for label, _, _ in rows)
    lines = [" " * width + "".join(f"{name:>16}" for name in names)]
    for label, means, intervals in rows:
        lines.append(f"{label:<{width}}" + "".join(f"{means[name]:>9.3f} ±{intervals[name]:.3f}" for name in names))
    return "\n".join([*lines, f"{results['queries']} queries; the last lines are of {METHODS[0]}"])
