"""Compare a prompt with the last one of its chat: what it begins with, which a provider's cache keeps, and holds.

What the next prompt is compared with, and budgets are tuned to, is stored afterwards.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from django.db import connection
from django.utils import timezone

from apps.chats.models import Character, Chat
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.ids import uuid7
from apps.prompts.assembly.conversation import Contents
from apps.prompts.assembly.recalled import Recalled
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.filling.fill import Fitted
from apps.prompts.filling.plan import SlotPlan
from apps.prompts.models import PromptState
from apps.prompts.slots.entries import Entry, FilledSlot, Holding
from apps.prompts.turns import UserTurn, visible_messages

MAX_COMPARED = 200  # messages


def last_state(chat: Chat, character: Character | None) -> PromptState:
    """Return the state after the last prompt of a chat for a responding character, or an empty one."""
    state = STATE.first(chat.owner_id, chat.pk, character.pk if character else None)
    return state or PromptState(owner_id=chat.owner_id, chat=chat, character=character)


STATE = CompiledQuery(
    lambda owner, chat, character: PromptState.objects.for_owner(owner).filter(chat=chat, character=character)
)


@dataclass(frozen=True)
class Beginning:
    """Hashes of the leading messages of a prompt: of what is remembered, and of a whole prompt, None for another.

    ``unchanged`` of the remembered ones and ``whole_unchanged`` of the whole ones are as in the last prompt.
    """

    prefix: list[str]
    whole: list[str] | None
    unchanged: int
    whole_unchanged: int


def beginning_of(
    state: PromptState, remembered: Sequence[Mapping[str, str]], whole: Sequence[Mapping[str, str]] | None, model: str
) -> Beginning:
    """Compare what a prompt remembers, and a whole prompt, with the last prompt of its chat.

    What another model has read is in no cache of ``model``.
    """

    def digests(messages: Sequence[Mapping[str, str]]) -> list[str]:
        texts = [f"{model}\n{message['role']}\n{message['content']}" for message in messages[:MAX_COMPARED]]
        return [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]

    def unchanged(before: Sequence[str], now: Sequence[str]) -> int:
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))

    prefix, hashed = digests(remembered), None if whole is None else digests(whole)
    return Beginning(prefix, hashed, unchanged(state.prefix, prefix), unchanged(state.whole, hashed or []))


def holding_of(state: PromptState, turn: UserTurn, period: int) -> Holding:
    """Return what blocks hold for ``period`` turns, and which of these the turn is."""
    number = visible_messages(turn.chat).filter(is_user=True, index__lt=turn.index).count()
    return Holding(state.held, number, period)


def record_prompt(
    state: PromptState, contents: Contents, plan: SlotPlan, recalled: Recalled, request: PromptRequest
) -> Beginning:
    """Return what of a prompt is as in the last one. Store it for the next one, if the request leaves a trace."""
    whole = contents.messages if request.reply else None
    beginning = beginning_of(state, contents.remembered, whole, request.reader)
    if request.leave_trace:
        record_statistics(request.chat, recalled.slots)
        store_state(state, beginning, plan, recalled.fitted)
    return beginning


def store_state(
    state: PromptState, beginning: Beginning, plan: SlotPlan, fitted: Mapping[str, Fitted[Entry]] | None
) -> None:
    """Store what the next prompt is compared with, and what it holds. Of two prompts at once, the last one counts.

    ``fitted`` is None for a prompt that uses a stored recall: then what is held does not change. After a prompt that is
    no whole one, the last whole one is still what the next is compared with.
    """
    held: Mapping[str, Any] = {}
    if plan.holding is not None and fitted is None:
        held = state.held
    elif plan.holding is not None and fitted is not None:
        held = plan.holding.after({name: fitted[name].kept for name in plan.held_slots if name in fitted})
    values: dict[str, Any] = {"prefix": beginning.prefix, "held": held}
    if beginning.whole is not None:
        values["whole"] = beginning.whole
    if all(getattr(state, name) == value for name, value in values.items()):
        return
    new = PromptState(owner_id=state.owner_id, chat_id=state.chat_id, character_id=state.character_id, **values)
    PromptState.objects.bulk_create(
        [new],
        update_conflicts=True,
        unique_fields=["chat", "character"],
        update_fields=[*values, "updated_at"],
    )


# One statement: of two prompts at once, neither loses what the other needed. Rows are written in the order of their
# names, so that two such statements can't deadlock.
_RECORD = """
INSERT INTO injection_slotstatistics
    (id, owner_id, chat_id, slot, tokens, full_tokens, trimmed, budget, high_water, updated_at)
SELECT id, %(owner)s, %(chat)s, slot, tokens, full_tokens, trimmed, budget, needed, %(now)s
FROM unnest(
    %(ids)s::uuid[], %(slots)s::text[], %(tokens)s::int[], %(full)s::int[], %(trimmed)s::int[], %(budgets)s::int[],
    %(needed)s::int[]
) AS new (id, slot, tokens, full_tokens, trimmed, budget, needed)
ORDER BY slot
ON CONFLICT (chat_id, slot) DO UPDATE SET
    tokens = excluded.tokens, full_tokens = excluded.full_tokens, trimmed = excluded.trimmed,
    budget = excluded.budget, updated_at = excluded.updated_at,
    high_water = greatest(injection_slotstatistics.high_water, excluded.high_water)
"""


def record_statistics(chat: Chat, filled: Iterable[FilledSlot]) -> None:
    """Record what the slots of a prompt needed and got. A text that a person edited says nothing of what they need."""
    rows = list(filled)
    with connection.cursor() as cursor:
        cursor.execute(
            _RECORD,
            {
                "owner": chat.owner_id,
                "chat": chat.pk,
                "now": timezone.now(),
                "ids": [uuid7() for _ in rows],
                "slots": [row.slot.name for row in rows],
                "tokens": [row.tokens for row in rows],
                "full": [row.full_tokens for row in rows],
                "trimmed": [row.trimmed for row in rows],
                "budgets": [row.budget for row in rows],
                "needed": [0 if row.edited else row.full_tokens for row in rows],
            },
        )
