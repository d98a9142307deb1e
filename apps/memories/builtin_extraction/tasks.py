"""All that the built-in backend can be asked for."""

from collections.abc import Mapping

from apps.llm.builtin import TaskFunction
from apps.memories.builtin_extraction import picking
from apps.memories.builtin_extraction.arcs import arc_summary, arcs
from apps.memories.builtin_extraction.consolidate import consolidate
from apps.memories.builtin_extraction.continuity import continuity, repair
from apps.memories.builtin_extraction.digests import canon, profiles
from apps.memories.builtin_extraction.epistemic import epistemic
from apps.memories.builtin_extraction.ledger import ledger
from apps.memories.builtin_extraction.likeness import supersession
from apps.memories.builtin_extraction.relationships import relationships
from apps.memories.builtin_extraction.scenes import scene_break, scene_recap
from apps.memories.builtin_extraction.summary import summary
from apps.memories.builtin_extraction.triggers import triggers

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
