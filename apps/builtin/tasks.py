"""List the tasks that the built-in backend answers, by name."""

from collections.abc import Mapping

from apps.builtin.arcs import arc_summary, arcs
from apps.builtin.consolidation import consolidate
from apps.builtin.contradictions import continuity, pairs, repair
from apps.builtin.epistemic import epistemic
from apps.builtin.ledger import ledger
from apps.builtin.profiles import canon, profiles
from apps.builtin.relationships import relationships
from apps.builtin.scenes import scene_break, scene_recap
from apps.builtin.selection import long_term, session
from apps.builtin.summary import summary
from apps.builtin.triggers import triggers
from apps.llm.backends.builtin import TaskFunction

_FUNCTIONS: tuple[TaskFunction, ...] = (
    long_term, session, summary, scene_recap, scene_break, arcs, arc_summary, ledger, epistemic, relationships,
    consolidate, pairs, profiles, canon, continuity, repair, triggers,
)  # fmt: skip
TASKS: Mapping[str, TaskFunction] = {function.__name__: function for function in _FUNCTIONS}
