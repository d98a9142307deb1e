"""Format a report of the suitability test as text. Without database access."""

from apps.extraction.suitability.running import SuitabilityReport
from apps.extraction.suitability.scoring import TrialResult, verdict_of

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
