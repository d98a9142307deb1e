"""What a text about a character may be made from, and for which members of a group a run renews such texts."""

import datetime as dt
from collections.abc import Iterable

from apps.extraction.stages.context import Context
from apps.memories.models import VersionedText
from apps.memories.queries.knowledge import knowledge_in
from apps.memories.secrets import secrets_kept_from
from apps.memories.witnesses import learners

NEVER = dt.datetime(1, 1, 1, tzinfo=dt.UTC)


def is_members_turn(context: Context, kind: VersionedText.Kind) -> bool:
    """Return whether the run may ask a model for the member's text, so that ten members don't cost ten calls a pass.

    The oldest texts come first. A run renews as many of a kind as it has read windows, at least one. Outside groups,
    return True.
    """
    if not context.chat.is_group or not context.has_model or context.run.tiers in (["profiles"], ["canon"]):
        return True
    windows = context.run.steps.exclude(last=None).values("window").distinct().count()
    rows = VersionedText.objects.for_owner(context.owner_id).filter(kind=kind, state=VersionedText.State.CURRENT)
    written = dict(rows.filter(chat=context.chat).values_list("character_id", "created_at"))
    made = rows.filter(run=context.run).count()
    mine = written.get(context.character.pk, NEVER) if context.character else NEVER
    older = sum(written.get(member.pk, NEVER) < mine for member in learners(context.chat) if member)
    return made + older < max(windows, 1)


def tellable(context: Context, texts: Iterable[str]) -> list[str]:
    """Return the texts without what is kept from the step's character, whose prompts have what is made from them."""
    names = [context.character.name] if context.character else []
    secrets = secrets_kept_from(names, knowledge_in(context.chat) if names else ())
    return [told for text in texts if (told := secrets.without(text))]
