"""Definitions of the slots: their positions in a prompt, their token budgets and their templates."""

from dataclasses import dataclass, replace

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext, gettext_noop
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
    "canon",
    _("Canon"),
    "smartmemory-canon",
    IN_PROMPT,
    0,
    800,
    _bullets(gettext_noop("Character history:")),
    prose=True,
)
PROFILES = Slot(
    "profiles", _("Profiles"), "smartmemory-profiles", IN_PROMPT, 1, 400, _bullets(gettext_noop("Current state:"))
)
LONG_TERM = Slot(
    "long_term",
    _("Lasting memories"),
    "smartmemory-longterm",
    IN_PROMPT,
    2,
    500,
    _bullets(gettext_noop("Known from earlier conversations:")),
)
SHORT_TERM = Slot(
    "short_term",
    _("Summary so far"),
    "smartmemory-shortterm",
    IN_PROMPT,
    0,
    2000,
    _bullets(gettext_noop("Story so far:")),
    prose=True,
)
SCENES = Slot(
    "scenes",
    _("Scenes"),
    "smartmemory-scenes",
    IN_CHAT,
    6,
    300,
    _bullets(gettext_noop("Earlier scenes of this conversation:")),
)
RELATIONSHIPS = Slot(
    "relationships",
    _("Relationships"),
    "smartmemory-relationships",
    IN_CHAT,
    5,
    250,
    _bullets(gettext_noop("Relationships:")),
)
TRIGGERED = Slot(
    "triggered",
    _("Related to the turn"),
    "smartmemory-triggered",
    IN_CHAT,
    4,
    400,
    _bullets(gettext_noop("Related to the latest message:")),
)
SESSION = Slot(
    "session",
    _("Memories of the chat"),
    "smartmemory-session",
    IN_CHAT,
    3,
    400,
    _bullets(gettext_noop("What happened earlier in this conversation:")),
)
ARCS = Slot(
    "arcs", _("Story arcs"), "smartmemory-arcs", IN_CHAT, 2, 700, _bullets(gettext_noop("Open threads of the story:"))
)
EPISTEMIC = Slot(
    "epistemic",
    _("Who knows what"),
    "smartmemory-epistemic",
    IN_CHAT,
    1,
    200,
    _bullets(gettext_noop("What {{char}} knows and hides:")),
)
STATE_LEDGER = Slot(
    "state_ledger",
    _("State ledger"),
    "smartmemory-stateledger",
    IN_CHAT,
    1,
    200,
    _bullets(gettext_noop("The state of things:")),
)
REPAIR = Slot(
    "repair",
    _("Repair note"),
    "",
    IN_CHAT,
    0,
    200,
    _bullets(gettext_noop("To resolve a contradiction in the last reply:")),
)

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

_HEADINGS = {slot.name: slot.heading for slot in SLOTS}


def in_language(slot: Slot, language: str) -> Slot:
    """Return a slot with its heading in a language, unless somebody has given it another template."""
    heading = _HEADINGS.get(slot.name)
    if heading is None or slot.template != _bullets(heading):
        return slot
    return replace(slot, template=_template_in(language, heading))


def in_all_languages(slot: Slot) -> list[Slot]:
    """Return a slot, and with the headings that it has in prompts of chats in other languages if it has one of them."""
    heading = _HEADINGS.get(slot.name, "")
    templates = [_template_in(language, heading) for language, _name in settings.LANGUAGES if heading]
    others = templates if slot.template in templates else []
    return [slot, *(replace(slot, template=template) for template in others)]


def _template_in(language: str, heading: str) -> str:
    with translation.override(language):
        return _bullets(gettext(heading))
