"""Functions are short enough to be read at once. Ruff limits their arguments (``max-args`` in pyproject.toml)."""

import ast

from config.env import ROOT

MAX_LINES = 40
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_functions_have_at_most_forty_lines() -> None:
    long = {}
    for path in (path for folder in ("apps", "config") for path in (ROOT / folder).rglob("*.py")):
        if "migrations" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            lines = node.end_lineno - node.lineno + 1 if isinstance(node, FUNCTIONS) and node.end_lineno else 0
            if lines > MAX_LINES:
                long[f"{path.relative_to(ROOT)}:{node.lineno}"] = lines
    assert long == {}
