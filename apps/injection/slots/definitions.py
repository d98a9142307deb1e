"""Definitions of the slots: their positions in a prompt and their token budgets."""

from dataclasses import dataclass

IN_PROMPT = "in_prompt"
IN_CHAT = "in_chat"


@dataclass(frozen=True)
class Slot:
    """A named block of the prompt.

    ``depth`` of an ``in_chat`` slot is the number of messages that follow it; the depth of an ``in_prompt`` slot
    orders the blocks before the conversation. ``budget`` is in tokens, for the rendered text with its heading.
    """

    name: str
    macro: str
    position: str
    depth: int
    budget: int
    heading: str
    role: str = "system"


LONG_TERM = Slot("long_term", "smartmemory-longterm", IN_PROMPT, 2, 500, "Known from earlier conversations:")
SCENES = Slot("scenes", "smartmemory-scenes", IN_CHAT, 6, 300, "Earlier scenes of this conversation:")
SESSION = Slot("session", "smartmemory-session", IN_CHAT, 3, 400, "What happened earlier in this conversation:")
TRIGGERED = Slot("triggered", "smartmemory-triggered", IN_CHAT, 4, 250, "Related to the latest message:")
REPAIR = Slot("repair", "smartmemory-repair", IN_CHAT, 0, 200, "To resolve a contradiction in the last reply:")

# Blocks that change rarely come first, so that more of the prompt stays in the provider's cache.
SLOTS = (LONG_TERM, SCENES, SESSION, TRIGGERED, REPAIR)
BUDGETS = {slot.name: slot.budget for slot in SLOTS}
HEADINGS = {slot.name: slot.heading for slot in SLOTS}
