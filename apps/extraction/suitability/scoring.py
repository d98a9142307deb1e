"""How good a reply is, and what to tell its owner about it. Pure."""

import re
from dataclasses import dataclass, field

from apps.extraction.suitability.expectations import met
from apps.extraction.suitability.readings import Read, read_reply
from apps.extraction.suitability.scenarios import Trial

FORM_WEIGHT = 0.3  # of a score: lost where nothing can be used, kept where every line can
PENALTY = 0.15  # of a score, for each thing that must not be said
MOST_PENALTIES = 4
GOOD, USABLE = 70, 40  # scores from which a tier is called so
_NONE = re.compile(r"[\W_]*none[\W_]*", re.IGNORECASE)


@dataclass(frozen=True)
class TierResult:
    """What became of one question. ``score`` runs from 0 to 100."""

    task: str
    scene: str
    score: int = 0
    verdict: str = "unsuitable"
    found: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    used: int = 0
    unused: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    raw: str = ""
    error: str = ""
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def score_reply(trial: Trial, reply: str) -> TierResult:
    """The reply measured by what the trial expects. Never raises for what a model may write."""
    read = read_reply(trial.task, reply, trial.material)
    found = met(trial.wanted, read.lines)
    wrong = [one.what for one in met(trial.unwanted, read.lines)]
    score = _score(trial, len(found), len(wrong), read.form)
    return TierResult(
        task=trial.task,
        scene=trial.scene,
        score=score,
        verdict=verdict_of(score),
        found=[one.what for one in found],
        missing=[one.what for one in trial.wanted if one not in found],
        wrong=wrong,
        used=read.count,
        unused=read.unused,
        hints=_hints(trial, read, reply, len(found), wrong),
        raw=reply,
    )


def failed(trial: Trial, error: str, raw: str = "") -> TierResult:
    """What stands for a call that gave no reply."""
    return TierResult(task=trial.task, scene=trial.scene, raw=raw, error=error, hints=[f"No reply: {error}"])


def verdict_of(score: int) -> str:
    return "good" if score >= GOOD else "usable" if score >= USABLE else "unsuitable"


def _score(trial: Trial, found: int, wrong: int, form: float) -> int:
    recall = min(found / (trial.enough * len(trial.wanted)), 1.0)
    kept = 1 - PENALTY * min(wrong, MOST_PENALTIES)
    return round(100 * recall * kept * (1 - FORM_WEIGHT + FORM_WEIGHT * form))


def _hints(trial: Trial, read: Read, reply: str, found: int, wrong: list[str]) -> list[str]:
    if not read.lines:
        return [_nothing_read(reply)]
    hints = [*wrong, *read.remarks]
    if found < trial.enough * len(trial.wanted):
        few = ": too few lines" if read.count < trial.lines else ""
        hints.insert(0, f"It found {found} of {len(trial.wanted)} facts{few}. A larger model would find more.")
    total = read.count + len(read.unused)
    if read.unused and read.form < 0.8:
        hints.append(f"{len(read.unused)} of {total} entries didn't have the form that was asked for.")
    return hints or ["It did what was asked for."]


def _nothing_read(reply: str) -> str:
    if not reply.strip():
        return "It wrote nothing. A reasoning model may have used up its tokens for thinking."
    if _NONE.fullmatch(reply):
        return "It found nothing to note, though there is much. A larger model would find more."
    return "It wrote prose, or something else, instead of what was asked for. Try a model that follows instructions."
