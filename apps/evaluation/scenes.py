"""``--format scenes``: measure how well the built-in detector and the original's patterns find the starts of scenes.

A passage is an excerpt of a chat. Its first message never counts as the start of a scene. The minimum length of scenes
is not applied, since the messages before the passage are unknown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from apps.builtin.scene_breaks import SceneTurn, likelihoods, scene_starts
from apps.evaluation.datasets import UnusableDataset, required
from apps.evaluation.json_lines import read_json_lines
from apps.evaluation.original_scene_patterns import original_scene_starts

EXCERPT_CHARS = 90  # maximum length of the excerpt shown with a mistake


@dataclass(frozen=True)
class SceneExcerpt:
    """An excerpt of a chat, from ``line`` of its file. ``expected`` are the positions where scenes start."""

    line: int
    turns: list[SceneTurn]
    expected: frozenset[int]


@dataclass(frozen=True)
class Mistake:
    """A scene start that was missed, or found where there is none, at the message ``index`` of a passage."""

    line: int
    index: int
    mistake: str  # missed | false
    excerpt: str


METHODS: dict[str, Callable[[Sequence[SceneTurn]], list[int]]] = {
    "built-in": lambda turns: scene_starts(turns, min_messages=1, likely=likelihoods(turns)),
    "original": original_scene_starts,
}


def evaluate(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """Return the figures and mistakes of both methods. Raise UnusableDataset, OSError."""
    passages = [passage_of(value, number) for number, value in read_json_lines(file)]
    report(f"{len(passages)} passages, {sum(len(passage.turns) for passage in passages)} messages")
    return {
        "passages": len(passages),
        "without_a_break": sum(not passage.expected for passage in passages),
        "breaks": sum(len(passage.expected) for passage in passages),
        "methods": {name: _figures(passages, method) for name, method in METHODS.items()},
    }


def passage_of(value: Any, line: int) -> SceneExcerpt:
    """Return the passage of a line of the file. Raise UnusableDataset."""
    path = f"line {line}"
    messages = required(value, "messages", list, path)
    turns = [_turn(message, f"{path}: messages[{number}]") for number, message in enumerate(messages)]
    expected = required(value, "expected", list, path)
    for number, index in enumerate(expected):
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(turns):
            raise UnusableDataset(
                f"{path}: expected[{number}] is not the position of one of its {len(turns)} messages."
            )
    return SceneExcerpt(line, turns, frozenset(expected) - {0})


def _turn(message: Any, path: str) -> SceneTurn:
    return SceneTurn(
        name=required(message, "name", str, path),
        is_user=required(message, "is_user", bool, path),
        text=required(message, "mes", str, path),
    )


def _figures(passages: Sequence[SceneExcerpt], method: Callable[[Sequence[SceneTurn]], list[int]]) -> dict[str, Any]:
    predicted = [frozenset(method(passage.turns)) - {0} for passage in passages]
    true_positives = sum(len(passage.expected & starts) for passage, starts in zip(passages, predicted, strict=True))
    precision = _share(true_positives, sum(map(len, predicted)))
    recall = _share(true_positives, sum(len(passage.expected) for passage in passages))
    exact = sum(passage.expected == starts for passage, starts in zip(passages, predicted, strict=True))
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * precision * recall / (precision + recall) if precision + recall else 0.0, 4),
        "exact": round(_share(exact, len(passages)), 4),
        "mistakes": [asdict(item) for pair in zip(passages, predicted, strict=True) for item in _mistakes(*pair)],
    }


def _share(part: int, whole: int) -> float:
    """Return part / whole, or 1 if the whole is 0."""
    return part / whole if whole else 1.0


def _mistakes(passage: SceneExcerpt, starts: frozenset[int]) -> Iterator[Mistake]:
    for index in sorted(passage.expected ^ starts):
        excerpt = " ".join(passage.turns[index].text.split())[:EXCERPT_CHARS]
        yield Mistake(passage.line, index, "missed" if index in passage.expected else "false", excerpt)


def table(results: dict[str, Any]) -> str:
    """Return the figures as a table with a line for each method, followed by the mistakes of each."""
    names = ("precision", "recall", "f1", "exact")
    lines = [" " * 8 + "".join(f"{name:>11}" for name in names)]
    for method, row in results["methods"].items():
        lines.append(f"{method:<8}" + "".join(f"{row[name]:>11.3f}" for name in names))
    lines.append(
        f"{results['passages']} passages, {results['without_a_break']} without a break, {results['breaks']} breaks;"
        " exact: the share of passages with no mistake"
    )
    for method, row in results["methods"].items():
        lines.append(f"\n{method}: {len(row['mistakes'])} wrong")
        lines += ["  line {line}, message {index}, {mistake}: {excerpt}".format(**item) for item in row["mistakes"]]
    return "\n".join(lines)
