"""Record the lorebook entries of a prompt."""

from contextlib import suppress
from typing import Any

from django.db import transaction

from apps.common.problems import Missing
from apps.prompts.models import Recall
from apps.prompts.operations import lock_turn
from apps.prompts.turns import UserTurn


def record_lore(turn: UserTurn, entries: list[dict[str, Any]]) -> None:
    """Store with a turn's recall which lorebook entries its last prompt had. A turn without a text has no recall."""
    recalls = Recall.objects.for_owner(turn.owner_id).filter(chat=turn.chat, message=turn.message)
    if recalls.exclude(lore=entries).update(lore=entries) or not entries or not turn.text:
        return
    with suppress(Missing), transaction.atomic():
        message_id = lock_turn(turn)
        if not recalls.exists():
            # Nothing could be recalled. Without a hash, the recall of the turn is still to be made.
            Recall.objects.create(
                owner_id=turn.owner_id, chat=turn.chat, message_id=message_id, turn_hash="", lore=entries
            )
