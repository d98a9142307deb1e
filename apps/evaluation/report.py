"""Format the results of an evaluation as a JSON document or as a table. Without database access."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from apps.evaluation.metrics import interval, mean
from apps.evaluation.runs import METHODS, QueryResult


def report_document(query_results: Sequence[QueryResult]) -> dict[str, Any]:
    """Return the mean measures of each method: over all queries, by kind, language, category and store.

    ``intervals`` are half the width of the means' 95 % confidence intervals over all queries.
    """
    return {
        "methods": _by_method(query_results),
        "intervals": _by_method(query_results, interval),
        "queries": len(query_results) // len(METHODS),
        "kinds": _by_attribute(query_results, "kind"),
        "languages": _by_attribute(query_results, "language"),
        "categories": _by_attribute(query_results, "category"),
        "stores": _by_attribute(query_results, "store"),
    }


def _by_method(
    query_results: Sequence[QueryResult], summary: Callable[[Iterable[Mapping[str, float]]], dict[str, float]] = mean
) -> dict[str, dict[str, float]]:
    means = {m: summary(result.measures for result in query_results if result.method == m) for m in METHODS}
    return {method: {name: round(value, 4) for name, value in row.items()} for method, row in means.items()}


def _by_attribute(query_results: Sequence[QueryResult], attribute: str) -> dict[str, dict[str, dict[str, float]]]:
    values = sorted({getattr(row, attribute) for row in query_results})
    return {value: _by_method([row for row in query_results if getattr(row, attribute) == value]) for value in values}


def table(results: dict[str, Any]) -> str:
    """Return the means as a table: a line for each method with its intervals, and one for each kind and language."""
    rows, intervals = results["methods"], results["intervals"]
    names = list(next(iter(rows.values())))
    width = max(map(len, (*rows, *results["kinds"], *results["languages"])))
    lines = [" " * width + "".join(f"{name:>16}" for name in names)]
    for method, row in rows.items():
        lines.append(f"{method:<{width}}" + "".join(f"{row[n]:>9.3f} ±{intervals[method][n]:.3f}" for n in names))
    for group in ("kinds", "languages"):
        for value, methods in results[group].items():
            lines.append(f"{value:<{width}}" + "".join(f"{methods[METHODS[0]][n]:>9.3f}{'':7}" for n in names))
    return "\n".join([*lines, f"{results['queries']} queries; the last lines are of {METHODS[0]}"])
