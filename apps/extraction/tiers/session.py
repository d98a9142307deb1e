"""Session memories: what only one chat needs. All members of a group share them."""

from django.utils.translation import gettext_lazy as _

from apps.extraction.memories import consolidation
from apps.extraction.memories.lines import ask_for_memories, memory_task
from apps.extraction.memories.outcomes import remember
from apps.extraction.steps.context import Context, StageOutcome, Window
from apps.extraction.tier import Form, Tier

NAME = "session"


def run(context: Context, window: Window) -> StageOutcome:
    """Extract session memories from a window."""
    return remember(context, window.turns, NAME, ask_for_memories(context, window.turns, NAME))


def merge(context: Context, window: Window) -> StageOutcome:
    """Merge session memories."""
    return consolidation.run(context, NAME)


SESSION = memory_task(NAME, _("Memories of what happens in one chat."), ("known", "participants", "per_kind"))
TIER = Tier(NAME, run, (SESSION,), merge=merge, forms=(Form(NAME, SESSION),), has_memories=True)
