"""Profiles: the current state of a character, of their world, and of their relationships."""

import datetime as dt

from django.utils import timezone

from apps.english.names import is_same_person
from apps.extraction.parsers.profiles import is_profile, parse_profiles
from apps.extraction.stages.backing_off import backs_off
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.members import is_members_turn, tellable
from apps.extraction.stages.texts import text_outcome
from apps.extraction.stages.turns import messages_between, within_budget
from apps.memories.models import Memory, Scene, VersionedText
from apps.memories.queries.arcs import resolved_arcs_of
from apps.memories.queries.memories import active_memories
from apps.memories.queries.texts import current_version, is_outdated
from apps.memories.witnesses import ids_in_story, is_witnessed_by

MAX_TOKENS = 600
MAX_MEMORIES, MAX_MESSAGES = 40, 20


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
    profile = parse_profiles(context.ask("profiles", material, max_tokens=MAX_TOKENS, is_usable=is_profile))
    if profile is None:
        return StageOutcome(unused=["The reply contained no profile."])
    parts = {
        "character_state": context.attributed(profile.character_state, material),
        "world_state": context.attributed(profile.world_state, material),
        "relationship_matrix": _of_others(profile.relationship_matrix),
    }

    return text_outcome(
        context,
        VersionedText.Kind.PROFILE,
        current,
        counted_as="profiles",
        character=context.character,
        text="\n\n".join(filter(None, parts.values())),
        parts=parts,
        last=max(turns.values(), key=lambda turn: turn.index, default=None),
        made_at=context.step_began,
    )


def _of_others(matrix: str) -> str:
    """Return the lines of a matrix without those that tell how somebody stands to themselves."""
    pairs = [(line, *line.partition(":")[0].replace("→", "->").partition("->")) for line in matrix.splitlines()]
    return "\n".join(line for line, who, arrow, whom in pairs if not arrow or not is_same_person(who, whom))


def _is_stale(context: Context, current: VersionedText | None) -> bool:
    """Return whether the profile is missing, requested by the user, or not edited and older than what it tells.

    It is if it has reached an age, if a scene has begun or an arc was resolved, or if what it came from has changed.
    """
    if current is None or context.run.tiers == ["profiles"]:
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
    character_id = context.character.pk if context.character else None
    texts: list[str] = []
    for tier in (Memory.Tier.LONG_TERM, Memory.Tier.SESSION):
        rows = active_memories(context.chat, tier, character_id).filter(hidden=False).order_by("-importance", "-pk")
        if context.witness is not None and tier == Memory.Tier.SESSION:
            rows = rows.filter(is_witnessed_by(ids_in_story(context.witness)))
        texts += rows.values_list("text", flat=True)[:MAX_MEMORIES]
    return tellable(context, texts)
