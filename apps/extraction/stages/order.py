"""The stages of a run, in their order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.extraction.settings.plans import Plan, plan_for
from apps.extraction.stages import (
    arcs,
    canon,
    consolidation,
    continuity,
    epistemic,
    extraction,
    ledger,
    profiles,
    reading,
    scenes,
    summary,
)
from apps.extraction.stages.context import Context, StageOutcome, Window


@dataclass(frozen=True)
class Stage:
    """Stage of the pipeline, which runs if one of its ``tiers`` does.

    ``reads``: a window counts as read for the tiers after this stage. If ``per_member``, the stage runs for each member
    of a group chat, else once.
    """

    name: str
    tiers: tuple[str, ...]
    run: Callable[[Context, Window], StageOutcome]
    reads: bool = True
    per_member: bool = False


SUMMARY = Stage("summary", ("summary",), summary.run)
# A window is read by one stage for all tiers, or by a stage for each.
READING_STAGES = (SUMMARY, Stage("reading", reading.TIERS, reading.run))
SEPARATE_STAGES = (
    SUMMARY,
    Stage("scenes", ("scenes",), scenes.run),
    Stage("epistemic", ("epistemic",), epistemic.run),
    Stage("session", ("session",), extraction.run_session),
    Stage("session_consolidation", ("session",), consolidation.run_session, reads=False),
    Stage("long_term", ("long_term",), extraction.run_long_term, per_member=True),
    Stage("long_term_consolidation", ("long_term",), consolidation.run_long_term, reads=False, per_member=True),
    Stage("arcs", ("arcs",), arcs.run),
    Stage("ledger", ("ledger",), ledger.run),
)
CLOSING_STAGES = (
    Stage("profiles", ("profiles",), profiles.run, per_member=True),
    Stage("canon", ("canon",), canon.run, per_member=True),
    Stage("continuity", ("continuity",), continuity.run),
)


def reading_stages(context: Context) -> Sequence[Stage]:
    """Return the stages that read a window: one for all tiers, or one for each."""
    plan = plan_for(context.owner_id, context.settings, context.backend)
    return READING_STAGES if plan == Plan.ONE else SEPARATE_STAGES
