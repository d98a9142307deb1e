"""Run the suitability test: ask each question, score the reply and report the progress."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from apps.extraction.prompts.rendering import render
from apps.extraction.suitability.scenarios import Trial, trials_for
from apps.extraction.suitability.scoring import TrialResult, failed_result, score_reply, verdict_of
from apps.llm.generation import Completion, GenerationBackend, GenerationFailed, GenerationRequest, Watch


@dataclass(frozen=True)
class Report:
    """Results of all tiers."""

    tiers: list[TrialResult] = field(default_factory=list)

    @property
    def score(self) -> int:
        """Return the mean score of the tiers, from 0 to 100.

        The reading of all tiers with one call doesn't count: a model that can't do so is asked for each alone.
        """
        scores = [tier.score for tier in self.tiers if tier.task != "reading"]
        return round(sum(scores) / len(scores)) if scores else 0

    def document(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        keys = {"used_count": "used", "unused_lines": "unused"}
        tiers = [{keys.get(name, name): value for name, value in asdict(tier).items()} for tier in self.tiers]
        return {"score": self.score, "verdict": verdict_of(self.score), "tiers": tiers}


def question_count(backend: str) -> int:
    """Return the number of questions to a backend."""
    return len(trials_for(backend))


def run(
    backend: GenerationBackend,
    watch: Watch,
    on_progress: Callable[[TrialResult], None],
    templates: Mapping[str, str] | None = None,
) -> Report:
    """Ask the backend every question; ``templates`` by task override the built-in prompts.

    ``watch`` is called during each call; an exception in it or in ``on_progress`` ends the test. A failed call is
    recorded in the report, and the test continues.
    """
    results: list[TrialResult] = []
    for trial in trials_for(backend.name):
        watch()
        result = _ask(backend, watch, trial, (templates or {}).get(trial.task))
        results.append(result)
        on_progress(result)
    return Report(results)


def _ask(backend: GenerationBackend, watch: Watch, trial: Trial, template: str | None) -> TrialResult:
    messages = render(trial.task, trial.material, template)
    request = GenerationRequest(trial.task, messages, trial.material, trial.max_tokens)
    start = time.monotonic()
    usage: Completion | GenerationFailed
    try:
        completion = backend.generate(request, watch=watch)
    except GenerationFailed as error:
        usage, result = error, failed_result(trial, error.detail, error.partial)
    else:
        usage, result = completion, score_reply(trial, completion.text)
    return replace(
        result,
        seconds=round(time.monotonic() - start, 2),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )
