"""The tasks that the built-in backend answers, by name. The module of each is loaded when it is first asked."""

from collections.abc import Mapping

from apps.common.on_demand import on_demand
from apps.llm.backends.builtin import TaskFunction

_TASKS_OF_MODULES = {
    "arcs": ("arcs", "arc_summary"),
    "consolidation": ("consolidate",),
    "contradictions": ("pairs", "continuity", "repair"),
    "epistemic": ("epistemic",),
    "ledger": ("ledger",),
    "profiles": ("profiles", "canon"),
    "relationships": ("relationships",),
    "scenes": ("scene_recap", "scene_break"),
    "selection": ("long_term", "session"),
    "summary": ("summary",),
    "triggers": ("triggers",),
}
TASKS: Mapping[str, TaskFunction] = {
    name: on_demand(f"{__name__}.{module}:{name}") for module, names in _TASKS_OF_MODULES.items() for name in names
}
