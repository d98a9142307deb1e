"""All that the built-in backend can be asked for."""

from collections.abc import Mapping

from apps.builtin import picking
from apps.builtin.arcs import arc_summary, arcs
from apps.builtin.consolidate import consolidate
from apps.builtin.continuity import continuity, repair
from apps.builtin.digests import canon, profiles
from apps.builtin.epistemic import epistemic
from apps.builtin.ledger import ledger
from apps.builtin.likeness import supersession
from apps.builtin.relationships import relationships
from apps.builtin.scenes import scene_break, scene_recap
from apps.builtin.summary import summary
from apps.builtin.triggers import triggers
from apps.llm.backends.builtin import TaskFunction

TASKS: Mapping[str, TaskFunction] = {
    **picking.TASKS,
    "summary": summary,
    "scene_recap": scene_recap,
    "scene_break": scene_break,
    "arcs": arcs,
    "arc_summary": arc_summary,
    "ledger": ledger,
    "epistemic": epistemic,
    "relationships": relationships,
    "consolidate": consolidate,
    "supersession": supersession,
    "profiles": profiles,
    "canon": canon,
    "continuity": continuity,
    "repair": repair,
    "triggers": triggers,
}
