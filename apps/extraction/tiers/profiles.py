"""Profiles: the current state of a character, of their world, and of their relationships."""

import datetime as dt
import re
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.english.names import is_same_person
from apps.extraction.parsers.free_text import truncate, unwrap_paragraphs
from apps.extraction.parsers.text_cleanup import clean_reply, is_none, strip_fences, strip_html
from apps.extraction.prompts.task import Task
from apps.extraction.steps.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.steps.texts import backs_off, is_members_turn, tellable, text_outcome
from apps.extraction.steps.turns import messages_between, within_budget
from apps.extraction.tier import Tier
from apps.memories.models import Memory, Scene, VersionedText
from apps.memories.operations.texts import NewVersion
from apps.memories.queries.arcs import resolved_arcs_of
from apps.memories.queries.memories import active_memories
from apps.memories.queries.texts import current_version, is_outdated
from apps.memories.witnesses import ids_in_story, is_witnessed_by

MAX_MEMORIES, MAX_MESSAGES = 40, 20
SECTIONS = ("character_state", "world_state", "relationship_matrix")
MAX_SECTION = 4000  # characters
_TITLE = r"(?P<{}>(?:character|world)[ _-]?state|relationships?[ _-]?matrix)"
_TAG = rf"[<\[]\s?(?P<close>/?)\s?{_TITLE.format('tag')}\s?[>\]]"
_HEADING = (
    rf"^[ \t]*(?:#{{1,6}}[ \t]+|\d[.)][ \t]+)?[*_]{{0,2}}{_TITLE.format('heading')}[*_]{{0,2}}[ \t]*(?::[*_]{{0,2}}|$)"
)
_BOUNDARY = re.compile(f"{_TAG}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
_EMPTY = frozenset({"", "none", "n/a", "unknown"})


def run(context: Context, window: Window) -> StageOutcome:
    """Update the character's profile if it is stale."""
    subject = context.character.name if context.character else context.chat.title
    memories = _memories(context)
    current = current_version(context.chat, VersionedText.Kind.PROFILE, context.character)
    if not memories or not _is_stale(context, current):
        return NO_OUTCOME
    if not is_members_turn(context, VersionedText.Kind.PROFILE) or backs_off(context, "profiles"):
        return NO_OUTCOME
    end = context.last_index
    latest = Window(messages_between(context.chat, end - MAX_MESSAGES + 1, end)).turns
    turns = within_budget(context.witnessed(latest), context.token_budget)
    others = [name for name in context.participants if not is_same_person(name, subject)]
    material = {"subject": subject, "names": others, "memories": memories, "turns": turns_material(turns)}
    profile = parse_profiles(context.ask("profiles", material))
    if profile is None:
        return StageOutcome(unused=["The reply contained no profile."])
    parts = {
        "character_state": context.attributed(profile.character_state, material),
        "world_state": context.attributed(profile.world_state, material),
        "relationship_matrix": _of_others(profile.relationship_matrix),
    }

    new = NewVersion(
        text="\n\n".join(filter(None, parts.values())),
        parts=parts,
        last=max(turns.values(), key=lambda turn: turn.index, default=None),
        made_at=context.step_began,
    )
    return text_outcome(
        context, VersionedText.Kind.PROFILE, current, new, counted_as="profiles", character=context.character
    )


def _of_others(matrix: str) -> str:
    """Return the lines of a matrix without those that tell how somebody stands to themselves."""
    pairs = [(line, *line.partition(":")[0].replace("→", "->").partition("->")) for line in matrix.splitlines()]
    return "\n".join(line for line, who, arrow, whom in pairs if not arrow or not is_same_person(who, whom))


def _is_stale(context: Context, current: VersionedText | None) -> bool:
    """Return whether the profile is missing, requested by the user, or not edited and older than what it tells.

    It is if it has reached an age, if a scene has begun or an arc was resolved, or if what it came from has changed.
    """
    if current is None or context.is_requested:
        return True
    if current.edited_by:
        return False
    is_old = timezone.now() - current.created_at >= dt.timedelta(minutes=context.settings.profile_minutes)
    return is_old or _has_moved_on(context, current) or is_outdated(current, context.chat, context.character)


def _has_moved_on(context: Context, current: VersionedText) -> bool:
    """Return whether a scene has ended, or an arc was resolved, since the profile was written."""
    scenes = Scene.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Scene.State.FOUND)
    if scenes.filter(created_at__gt=current.created_at).exists():
        return True
    resolved = resolved_arcs_of(context.chat, context.character)
    return any(arc.chat_id == context.chat.pk and arc.updated_at > current.created_at for arc in resolved)


def _memories(context: Context) -> list[str]:
    """Return the texts of the most important memories, long-term ones first."""
    witness, texts = context.witness, list[str]()
    for tier in (Memory.Tier.LONG_TERM, Memory.Tier.SESSION):
        rows = active_memories(context.chat, tier, context.character_id).filter(hidden=False)
        if witness is not None and tier == Memory.Tier.SESSION:
            rows = rows.filter(is_witnessed_by(ids_in_story(witness)))
        texts += rows.order_by("-importance", "-pk").values_list("text", flat=True)[:MAX_MEMORIES]
    return tellable(context, texts)


@dataclass(frozen=True)
class Profile:
    """Sections of a character's profile; "" for a section that the reply lacks."""

    character_state: str = ""
    world_state: str = ""
    relationship_matrix: str = ""


def parse_profiles(reply: str) -> Profile | None:
    """Parse a profile. Return None if all of its sections are missing. Never raise.

    A section ends with its closing tag or where the next one begins; headings are accepted instead of tags. If a
    section occurs twice, the longer one counts.
    """
    sections = dict.fromkeys(SECTIONS, "")
    text = strip_fences(clean_reply(reply))
    name, start = "", 0
    for match in [*_BOUNDARY.finditer(text), None]:
        section = unwrap_paragraphs(strip_html(text[start : match.start() if match else None]))
        section = "" if section.lower().strip(" \n.*_-()[]`") in _EMPTY else truncate(section, MAX_SECTION)
        if name and len(section) > len(sections[name]):
            sections[name] = section
        if match:
            title = (match["tag"] or match["heading"]).lower()
            name = "" if match["close"] else next(name for name in SECTIONS if name[0] == title[0])
            start = match.end()
    return Profile(**sections) if any(sections.values()) else None


def is_profile(reply: str) -> bool:
    """Return whether a reply has a section, or says that there is nothing to tell."""
    return is_none(reply) or parse_profiles(reply) is not None


def format_profile(profile: Profile) -> str:
    """Return ``profile`` formatted so that ``parse_profiles`` reads it back."""
    texts = {name: getattr(profile, name) for name in SECTIONS}
    return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in texts.items() if text)


PROFILES = Task(
    "profiles",
    _("The present state of a character and their world."),
    ("subject", "transcript"),
    ("names", "memories"),
    max_tokens=600,
    is_usable=is_profile,
    example={"names": ["Alice", "Tom"]},
)
TIER = Tier("profiles", run, (PROFILES,), per_member=True)
