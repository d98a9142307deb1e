"""Score a reply, with hints for the user. Without database access."""

from dataclasses import dataclass, field

from apps.extraction.parsers.text_cleanup import is_none
from apps.extraction.suitability.replies import ParsedReply, parse_reply
from apps.extraction.suitability.scenarios import Trial, met_expectations

FORMAT_WEIGHT = 0.3  # share of a score that depends on how many lines can be used
PENALTY = 0.15  # share of a score lost for each forbidden statement
MAX_PENALTIES = 4
GOOD, USABLE = 70, 40  # lowest scores of these verdicts


@dataclass(frozen=True)
class TrialResult:
    """Result of one question. ``score`` is from 0 to 100."""

    task: str
    scene: str
    score: int = 0
    verdict: str = "unsuitable"
    found: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    used_count: int = 0
    unused_lines: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    raw: str = ""
    error: str = ""
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def score_reply(trial: Trial, reply: str) -> TrialResult:
    """Score a reply by the expectations of a trial. Never raise."""
    parsed = parse_reply(trial.task, reply, trial.material)
    met = met_expectations(trial.expected, parsed.statements)
    wrong = [item.description for item in met_expectations(trial.forbidden, parsed.statements)]
    score = score_of(trial, len(met), len(wrong), parsed.format_score)
    return TrialResult(
        task=trial.task,
        scene=trial.scene,
        score=score,
        verdict=verdict_of(score),
        found=[item.description for item in met],
        missing=[item.description for item in trial.expected if item not in met],
        wrong=wrong,
        used_count=parsed.count,
        unused_lines=parsed.unused,
        hints=_hints(trial, parsed, reply, len(met), wrong),
        raw=reply,
    )


def failed_result(trial: Trial, error: str, raw: str = "") -> TrialResult:
    """Return the result of a call that failed."""
    return TrialResult(task=trial.task, scene=trial.scene, raw=raw, error=error, hints=[f"No reply: {error}"])


def verdict_of(score: int) -> str:
    """Return the verdict for a score."""
    return "good" if score >= GOOD else "usable" if score >= USABLE else "unsuitable"


def score_of(trial: Trial, found: int, wrong: int, format_score: float) -> int:
    """Return the score, 0 to 100, for numbers of facts found and of forbidden statements."""
    recall = min(found / (trial.enough * len(trial.expected)), 1.0)
    penalty_factor = 1 - PENALTY * min(wrong, MAX_PENALTIES)
    return round(100 * recall * penalty_factor * (1 - FORMAT_WEIGHT + FORMAT_WEIGHT * format_score))


def _hints(trial: Trial, parsed: ParsedReply, reply: str, found: int, wrong: list[str]) -> list[str]:
    if not parsed.statements:
        return [_no_statement_hint(reply)]
    hints = [*wrong, *parsed.remarks]
    if found < trial.enough * len(trial.expected):
        few = ": too few lines" if parsed.count < trial.lines else ""
        hints.insert(0, f"It found {found} of {len(trial.expected)} facts{few}. A larger model would find more.")
    total = parsed.count + len(parsed.unused)
    if parsed.unused and parsed.format_score < 0.8:
        hints.append(f"{len(parsed.unused)} of {total} entries didn't have the requested format.")
    return hints or ["It followed the instructions."]


def _no_statement_hint(reply: str) -> str:
    if not reply.strip():
        return "It wrote nothing. A reasoning model may have spent all of its tokens on reasoning."
    if is_none(reply):
        return "It reported that there is nothing to note. A larger model would find more."
    return "It wrote prose or another format than requested. Try a model that follows instructions better."
