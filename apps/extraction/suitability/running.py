"""A run of the test: each question asked, measured and reported as soon as it is answered."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from apps.extraction.prompts.rendering import render
from apps.extraction.suitability.scenarios import MAX_TOKENS, Trial, trials
from apps.extraction.suitability.scoring import TierResult, failed, score_reply, verdict_of
from apps.llm.generation import Completion, GenerationBackend, GenerationFailed, GenerationRequest, Watch


@dataclass(frozen=True)
class Report:
    tiers: list[TierResult] = field(default_factory=list)

    @property
    def score(self) -> int:
        """The mean of the tiers' scores, from 0 to 100."""
        return round(sum(tier.score for tier in self.tiers) / len(self.tiers)) if self.tiers else 0

    def document(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"score": self.score, "verdict": verdict_of(self.score), "tiers": [asdict(tier) for tier in self.tiers]}


def total() -> int:
    """How many questions a run asks."""
    return len(trials())


def run(
    backend: GenerationBackend,
    watch: Watch,
    on_progress: Callable[[TierResult], None],
    templates: Mapping[str, str] | None = None,
) -> Report:
    """Ask the backend every question, with the user's own ``templates`` where there are any, by task.

    ``watch`` is called while a call goes on; what it or ``on_progress`` raises ends the run. A call that fails is
    recorded, and the others go on. Nothing is read from or written to anybody's memories.
    """
    results: list[TierResult] = []
    for trial in trials():
        watch()
        result = _ask(backend, watch, trial, (templates or {}).get(trial.task))
        results.append(result)
        on_progress(result)
    return Report(results)


def _ask(backend: GenerationBackend, watch: Watch, trial: Trial, template: str | None) -> TierResult:
    messages = render(trial.task, trial.material, template)
    request = GenerationRequest(trial.task, messages, trial.material, MAX_TOKENS)
    begun = time.monotonic()
    spent: Completion | GenerationFailed
    try:
        completion = backend.generate(request, watch=watch)
    except GenerationFailed as error:
        spent, result = error, failed(trial, error.detail, error.partial)
    else:
        spent, result = completion, score_reply(trial, completion.text)
    return replace(
        result,
        seconds=round(time.monotonic() - begun, 2),
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
    )
