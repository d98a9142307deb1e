"""Run the suitability test: ask each question, score the reply, report the progress and format the report."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from apps.extraction.memories.lines import KINDS, parse_memories
from apps.extraction.prompts.rendering import render
from apps.extraction.prompts.task import TASKS, any_line_of
from apps.extraction.suitability.scenarios import WAYS, ReplyStatement, Trial, met_expectations, trial_of, trials_for
from apps.extraction.suitability.scoring import USABLE, TrialResult, failed_result, score_of, score_reply, verdict_of
from apps.llm.generation import (
    BUILTIN,
    Completion,
    GenerationBackend,
    GenerationFailed,
    GenerationRequest,
    Watch,
    get_backend,
)


@dataclass(frozen=True)
class SuitabilityReport:
    """Results of all tiers. ``without`` is the score of the built-in reader on the plain question, None if unasked."""

    tiers: list[TrialResult] = field(default_factory=list)
    without: int | None = None

    @property
    def score(self) -> int:
        """Return the mean score of the tiers, from 0 to 100.

        Other ways to ask don't count: a model that can't read all tiers with one call is asked for each alone.
        """
        scores = [tier.score for tier in self.tiers if tier.task not in WAYS]
        return round(sum(scores) / len(scores)) if scores else 0

    @property
    def plan(self) -> str:
        """Return how the model reads best: one call for all tiers, a call for each, plain questions, or not at all.

        "" while the test is under way.
        """
        ways = {tier.task: tier.score for tier in self.tiers if tier.task in WAYS}
        if self.without is None or ways.keys() != set(WAYS):
            return ""
        if ways["reading"] >= USABLE:
            return "one"
        if self.score >= USABLE:
            return "separate"
        return "small" if ways["plain"] >= USABLE and ways["plain"] >= self.without else "builtin"

    def document(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        keys = {"used_count": "used", "unused_lines": "unused"}
        tiers = [{keys.get(name, name): value for name, value in asdict(tier).items()} for tier in self.tiers]
        plan = {"plan": self.plan, "without": self.without}
        return {"score": self.score, "verdict": verdict_of(self.score), **plan, "tiers": tiers}


def question_count(backend: str) -> int:
    """Return the number of questions to a backend."""
    return len(trials_for(backend))


def run(
    backend: GenerationBackend,
    watch: Watch,
    on_progress: Callable[[TrialResult], None],
    templates: Mapping[str, str] | None = None,
    tasks: Collection[str] = (),
) -> SuitabilityReport:
    """Ask the backend every question, or those of some ``tasks``; ``templates`` by task override the built-in prompts.

    ``watch`` is called during each call; an exception in it or in ``on_progress`` ends the test. A failed call is
    recorded in the report, and the test continues.
    """
    results: list[TrialResult] = []
    for trial in trials_for(backend.name):
        if tasks and trial.task not in tasks:
            continue
        watch()
        result = _ask(backend, watch, trial, (templates or {}).get(trial.task))
        results.append(result)
        on_progress(result)
    return SuitabilityReport(results, _score_without() if backend.name != BUILTIN else None)


def _score_without() -> int:
    """Return the score of the built-in reader on what small models are asked in plain questions."""
    trial = trial_of("plain")
    request = GenerationRequest("long_term", [], {**trial.material, "participants": ["Ilka", "Tobias"], "known": []})
    lines = parse_memories(get_backend().generate(request).text, KINDS["long_term"]).items
    statements = [ReplyStatement(line.text) for line in lines]
    met, wrong = (met_expectations(facts, statements) for facts in (trial.expected, trial.forbidden))
    return score_of(trial, len(met), len(wrong), 1.0)


def _ask(backend: GenerationBackend, watch: Watch, trial: Trial, template: str | None) -> TrialResult:
    messages = render(trial.task, trial.material, template)
    patterns = [form.pattern for form in trial.forms] or [TASKS[trial.task].line_pattern]
    pattern = "" if template else any_line_of(patterns)
    request = GenerationRequest(trial.task, messages, trial.material, trial.max_tokens, line_pattern=pattern)
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


WIDTH = 78


def format_progress(tier: TrialResult) -> str:
    """Return a line with the score of a tier."""
    return f"{tier.task:<14} {tier.score:>3}  {tier.verdict:<10} {tier.seconds:>7.1f} s"


def format_report(report: SuitabilityReport) -> str:
    """Return the reply and hints of each tier, followed by a table of all scores."""
    parts = [_tier(tier) for tier in report.tiers]
    heading = f"{'tier':<14} {'score':>5}  {'found':>7}  {'wrong':>5}  {'unused':>6}  {'tokens':>6}  {'seconds':>7}"
    rows = [heading, *map(_row, report.tiers)]
    rows += [f"reads best: {report.plan} (the built-in reader alone: {report.without})"] if report.plan else []
    rows.append(f"{'all':<14} {report.score:>5}  {verdict_of(report.score)}")
    return "\n\n".join([*parts, "\n".join(rows)])


def _tier(tier: TrialResult) -> str:
    lines = [f"== {tier.task} ({tier.scene}) ".ljust(WIDTH, "="), tier.raw.strip() or "(no reply)", ""]
    lines += [f"- {hint}" for hint in tier.hints]
    lines += [f"- Not found: {'; '.join(tier.missing)}."] if tier.missing else []
    lines += [f"- Not used: {line}" for line in tier.unused_lines[:10]]
    return "\n".join(lines)


def _row(tier: TrialResult) -> str:
    found = f"{len(tier.found)}/{len(tier.found) + len(tier.missing)}"
    return (
        f"{tier.task:<14} {tier.score:>5}  {found:>7}  {len(tier.wrong):>5}  {len(tier.unused_lines):>6}  "
        f"{tier.completion_tokens:>6}  {tier.seconds:>7.1f}"
    )
