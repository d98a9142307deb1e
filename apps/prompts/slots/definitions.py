"""Definitions of the slots: their positions in a prompt, their token budgets and their templates."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from apps.common.words import Words

IN_PROMPT = "in_prompt"
IN_CHAT = "in_chat"
ENTRIES = "{{entries}}"


@dataclass(frozen=True)
class Slot:
    """A named block of the prompt.

    ``depth`` of an ``in_chat`` slot is the number of messages that follow it; the depth of an ``in_prompt`` slot
    orders the blocks before the conversation. ``budget`` is in tokens, for the rendered text with its heading.
    ``template`` contains ``{{entries}}``: bullets, or sentences of one paragraph if the slot is ``prose``. A slot
    without a ``macro`` has no place but its own.
    """

    name: str
    label: Words
    macro: str
    position: str
    depth: int
    budget: int
    template: str
    role: str = "system"
    prose: bool = False
    enabled: bool = True

    @property
    def heading(self) -> str:
        """Return the template's text before the entries."""
        return self.template.partition(ENTRIES)[0].strip()


def _bullets(heading: str) -> str:
    return f"{heading}\n{ENTRIES}"


CANON = Slot(
    "canon", _("Canon"), "smartmemory-canon", IN_PROMPT, 0, 800, _bullets("Character history:"), prose=True
)  # fmt: skip
PROFILES = Slot("profiles", _("Profiles"), "smartmemory-profiles", IN_PROMPT, 1, 400, _bullets("Current state:"))
LONG_TERM = Slot(
    "long_term", _("Lasting memories"), "smartmemory-longterm", IN_PROMPT, 2, 500,
    _bullets("Known from earlier conversations:"),
)  # fmt: skip
SHORT_TERM = Slot(
    "short_term",
    _("Summary so far"),
    "smartmemory-shortterm",
    IN_PROMPT,
    0,
    2000,
    _bullets("Story so far:"),
    prose=True,
)
SCENES = Slot(
    "scenes", _("Scenes"), "smartmemory-scenes", IN_CHAT, 6, 300, _bullets("Earlier scenes of this conversation:")
)
RELATIONSHIPS = Slot(
    "relationships", _("Relationships"), "smartmemory-relationships", IN_CHAT, 5, 250, _bullets("Relationships:")
)
TRIGGERED = Slot(
    "triggered", _("Related to the turn"), "smartmemory-triggered", IN_CHAT, 4, 400,
    _bullets("Related to the latest message:"),
)  # fmt: skip
SESSION = Slot(
    "session", _("Memories of the chat"), "smartmemory-session", IN_CHAT, 3, 400,
    _bullets("What happened earlier in this conversation:"),
)  # fmt: skip
ARCS = Slot("arcs", _("Story arcs"), "smartmemory-arcs", IN_CHAT, 2, 700, _bullets("Open threads of the story:"))
EPISTEMIC = Slot(
    "epistemic",
    _("Who knows what"),
    "smartmemory-epistemic",
    IN_CHAT,
    1,
    200,
    _bullets("What {{char}} knows and hides:"),
)
STATE_LEDGER = Slot(
    "state_ledger", _("State ledger"), "smartmemory-stateledger", IN_CHAT, 1, 200, _bullets("The state of things:")
)
REPAIR = Slot(
    "repair", _("Repair note"), "", IN_CHAT, 0, 200, _bullets("To resolve a contradiction in the last reply:")
)  # fmt: skip

# Blocks that change rarely come first, so that more of the prompt stays in the provider's cache.
SLOTS = (
    CANON, SHORT_TERM, PROFILES, LONG_TERM,
    SCENES, RELATIONSHIPS, TRIGGERED, SESSION, ARCS, EPISTEMIC, STATE_LEDGER, REPAIR,
)  # fmt: skip
UNIFIED_ORDER = (CANON, PROFILES, LONG_TERM, SHORT_TERM, SCENES, SESSION, ARCS)
UNIFIED = Slot("unified", _("One block"), "smartmemory-unified", IN_PROMPT, 0, 5200, ENTRIES)
ALL_SLOTS = (*SLOTS, UNIFIED)
MACROS = tuple(slot.macro for slot in ALL_SLOTS if slot.macro)

# A recall of a turn stores these; the others are read for each prompt.
RECALLED = (LONG_TERM, SCENES, TRIGGERED, SESSION, REPAIR)
