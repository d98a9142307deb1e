"""Read and store what the last prompt of a chat began with."""

from collections.abc import Mapping, Sequence

from apps.chats.models import Character, Chat
from apps.common.database.compiled_queries import CompiledQuery
from apps.prompts.assembly.prefix import digests_of, unchanged_count
from apps.prompts.models import PromptState
from apps.prompts.retrieval.service import RetrievalResult
from apps.prompts.settings.schema import Settings
from apps.prompts.slots.holding import Holding
from apps.prompts.slots.plan import Plan
from apps.prompts.turns import UserTurn, visible_messages


def last_state(chat: Chat, character: Character | None) -> PromptState:
    """Return the state after the last prompt of a chat for a responding character, or an empty one."""
    stored = STATE.first(chat.owner_id, chat.pk, character.pk if character else None)
    return stored or PromptState(owner_id=chat.owner_id, chat=chat, character=character)


STATE = CompiledQuery(
    lambda owner, chat, character: PromptState.objects.for_owner(owner).filter(chat=chat, character=character)
)


def compare_whole(state: PromptState, messages: Sequence[Mapping[str, str]], *, store: bool) -> int:
    """Return how many leading messages are as in the last whole prompt, and store what the next is compared with."""
    digests = digests_of(messages)
    if store and digests != state.whole:
        rows = PromptState.objects.for_owner(state.owner_id).filter(chat=state.chat_id, character=state.character_id)
        rows.update(whole=digests)
    return unchanged_count(state.whole, digests)


def holding_of(state: PromptState, turn: UserTurn, settings: Settings) -> Holding | None:
    """Return what is held for the turn, or None if the settings refresh all blocks in each turn."""
    if settings.refresh_period == 1:
        return None
    number = visible_messages(turn.chat).filter(is_user=True, index__lt=turn.index).count()
    return Holding(state.held, number, settings.refresh_period)


def store_state(state: PromptState, prefix: Sequence[str], plan: Plan, retrieved: RetrievalResult | None) -> None:
    """Store what the next prompt is compared with. Of two prompts at once, the last one counts."""
    held = state.held
    if plan.holding is None:
        held = {}
    elif retrieved is not None:
        kept = {name: retrieved.fitted[name].kept for name in plan.held_slots if name in retrieved.fitted}
        held = plan.holding.after(kept)
    if (list(prefix), held) == (state.prefix, state.held):
        return
    new = PromptState(
        owner_id=state.owner_id,
        chat_id=state.chat_id,
        character_id=state.character_id,
        prefix=list(prefix),
        held=held,
    )
    PromptState.objects.bulk_create(
        [new],
        update_conflicts=True,
        unique_fields=["chat", "character"],
        update_fields=["prefix", "held", "updated_at"],
    )
