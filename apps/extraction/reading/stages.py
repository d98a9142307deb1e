"""The stages of a run, in their order, and the tasks that they ask."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.extraction.memories import plain
from apps.extraction.prompts.task import Task
from apps.extraction.reading import one_call
from apps.extraction.reading.registry import TIERS
from apps.extraction.settings.plans import ReadingPlan, plan_for
from apps.extraction.settings.schema import READING_TIERS
from apps.extraction.steps.context import NO_OUTCOME, Context, StageOutcome, Window
from apps.extraction.tier import Run, Tier
from apps.llm.backends.builtin import answers


@dataclass(frozen=True)
class Stage:
    """Stage of the pipeline, which runs if one of its ``tiers`` does, and asks first of all ``task``.

    ``reads``: a window counts as read for the tiers after this stage. If ``per_member``, the stage runs for each member
    of a group chat, else once.
    """

    name: str
    tiers: tuple[str, ...]
    run: Run
    task: str
    reads: bool = True
    per_member: bool = False

    def outcome(self, context: Context, window: Window) -> StageOutcome:
        """Return what the stage is to write. Messages without a text are not read, nor any if nobody can be asked."""
        is_blank = self.reads and window.messages and not window.turns
        if is_blank or not (context.has_model or answers(self.task)):
            return NO_OUTCOME
        return self.run(context, window)


def reading_stages(context: Context) -> Sequence[Stage]:
    """Return the stages that read a window: one for all tiers with forms of lines, or one for each."""
    plan = plan_for(context.owner_id, context.settings, context.backend)
    return stages_of_one_call() if plan == ReadingPlan.ONE else separate_stages()


def stages_of_one_call() -> list[Stage]:
    """Return the stages that read a window with one call for all tiers that have forms of lines.

    Before it come the stages of the tiers without a form, for which that call can't ask.
    """
    apart = [stage for name in READING_TIERS if not TIERS[name].forms for stage in _stages_of(TIERS[name])]
    together = tuple(name for name in READING_TIERS if TIERS[name].forms)
    return [*apart, Stage("reading", together, one_call.run, one_call.READING.name)]


def separate_stages() -> list[Stage]:
    """Return the stages that read a window with a call for each tier."""
    return [stage for name in READING_TIERS for stage in _stages_of(TIERS[name])]


def closing_stages() -> list[Stage]:
    """Return the stages that read the chat as a whole, after all windows."""
    return [stage for name, tier in TIERS.items() if name not in READING_TIERS for stage in _stages_of(tier)]


def _stages_of(tier: Tier) -> list[Stage]:
    names, task, member = (tier.name,), tier.tasks[0].name, tier.per_member
    stages = [Stage(tier.name, names, tier.run, task, per_member=member)]
    if tier.merge:
        stages.append(Stage(f"{tier.name}_consolidation", names, tier.merge, task, reads=False, per_member=member))
    return stages


def all_tasks() -> dict[str, Task]:
    """Return the tasks by name in the order of pages: those for all tiers, of memories, then of the other tiers."""
    ordered = sorted(TIERS.values(), key=lambda tier: not tier.has_memories)
    tasks = [one_call.READING, one_call.REVIEW, *plain.TASKS, *(task for tier in ordered for task in tier.tasks)]
    return {task.name: task for task in tasks}
