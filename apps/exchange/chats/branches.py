"""Store the branches of an imported chat, each as a branch of the chat, or of the branch, that it leaves."""

from collections import deque
from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from apps.chats.locking import record_change
from apps.chats.models import Chat, ChatChange
from apps.chats.operations import branch_chat, store_messages
from apps.exchange.chats.repeats import find_branch, update_original
from apps.exchange.formats.parsed import ParsedBranch


def store_branches(chat: Chat, branches: Sequence[ParsedBranch], *, is_update: bool) -> tuple[list[Chat], list[UUID]]:
    """Store the branches of a chat that was just imported. Return their chats, and the ids of those updated.

    `is_update`: the chat was stored already, and so may be its branches, which are then updated.
    """
    stored: list[Chat] = []
    updated: list[UUID] = []
    for branch in branches:
        parent = chat if branch.parent is None else stored[branch.parent]
        made = _store(parent, branch)
        original = find_branch(parent, made, branch.kept, excluded=[item.pk for item in stored]) if is_update else None
        if original is not None:
            made = update_original(original, made)
            updated.append(made.pk)
        stored.append(made)
    return stored, updated


def _store(parent: Chat, branch: ParsedBranch) -> Chat:
    made = branch_chat(parent.owner_id, parent.pk, branch.kept - 1)
    # The iterator stores a batch at each step.
    deque(store_messages(made, branch.messages), maxlen=0)
    made.last_active = max((m.sent_at for m in branch.messages if m.sent_at), default=parent.last_active)
    made.last_active = min(made.last_active, timezone.now())
    record_change(made, ChatChange.Kind.IMPORT)
    return made
