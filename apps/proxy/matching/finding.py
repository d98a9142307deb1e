"""Find the chat that a request continues. Nothing here writes or locks."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Chat
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of
from apps.proxy.matching.comparing import Compared, compare
from apps.proxy.matching.plans import ChangePlan, KeyedRequest
from apps.proxy.matching.unfolding import instruction_keys
from apps.proxy.models import ProxiedChat
from apps.proxy.requests.turns import Turn

MAX_FOUND = 50  # chats with an equal user turn, latest first
CANDIDATES = 5  # chats that are compared with a request, or in which its instructions are sought


def is_found() -> Q:
    """Return the condition of rows whose chat is found by what a client sends, and not only by its id."""
    return Q(chat__deleted_at=None, chat__namespace=OWN_NAMESPACE)


def _latest(owner_id: Any, fingerprints: Any, story: Any, character_id: Any) -> QuerySet[ProxiedChat]:
    """Return what clients know of chats that share a message with these fingerprints, the latest first."""
    found = ProxiedChat.objects.for_owner(owner_id).filter(is_found(), fingerprints__overlap=fingerprints)
    if story is not None:
        found = found.filter(chat__story=story)
    if character_id is not None:
        found = found.filter(chat__character=character_id)
    latest: QuerySet[ProxiedChat] = found.select_related("chat__character").order_by("-updated_at")[:MAX_FOUND]
    return latest


LATEST: CompiledQuery[ProxiedChat] = CompiledQuery(_latest)


def find_chat(owner: Owner, request: KeyedRequest, *, story: UUID | None = None) -> Compared | None:
    """Return the chat, of a story if one is given, that shares most with a request, or None if it isn't certain.

    A chat of another character than the client names is none of them. Of two that share as much, one is chosen only if
    the request changes nothing in it.
    """
    asked = request.client_request
    is_chosen = asked.is_named and not asked.company.is_group  # in a group, it is who speaks next
    character = asked.character if is_chosen else None
    sought = set(request.fingerprints)
    latest = LATEST.rows(owner_id_of(owner), list(request.fingerprints), story, character.pk if character else None)
    rows = sorted(latest, key=lambda row: -len(sought & set(row.fingerprints)))
    openings: dict[Chat, set[int]] = {}
    for row in rows:
        openings.setdefault(row.chat, set()).add(row.opening)
    likely: list[Compared] = []
    for chat in list(openings)[:CANDIDATES]:
        compared = compare(chat, request)
        if is_same_chat(compared.request.turns, compared.plan, same_opening=request.opening in openings[chat]):
            likely.append(compared)
    likely.sort(key=lambda compared: compared.score, reverse=True)
    is_tie = len(likely) > 1 and likely[0].score == likely[1].score
    return None if not likely or (is_tie and likely[0].plan.changes) else likely[0]


def has_sent(owner: Owner, client: str, instructions: Sequence[str]) -> bool:
    """Return whether a client has sent all these instructions in one of its latest chats."""
    owner_id = owner_id_of(owner)
    keys = set(instruction_keys(owner_id, instructions))
    latest = ProxiedChat.objects.for_owner(owner).filter(is_found(), client=client).order_by("-updated_at")
    return any(keys.issubset(known) for known in latest.values_list("instructions", flat=True)[:CANDIDATES])


def is_same_chat(turns: Sequence[Turn], plan: ChangePlan, *, same_opening: bool) -> bool:
    """Return whether the turns are of the chat that they were compared with, and of no other with equal words.

    A greeting alone is shared by all chats of a character. One user message may be, so the system prompt decides.
    Two conversations may have short messages in common, such as "Continue", so most of what is compared must be equal,
    and under another system prompt nearly all. What a client left at the end, to go on from an earlier point, is not
    compared, but one equal user message is not enough then: many conversations begin with the same greetings.
    """
    numbers = {number for _, number in plan.matched}
    changes = plan.changes - plan.dropped_end.stored
    if changes * (1 if same_opening else 5) >= max(plan.equal, 1):
        return False
    user_turns = sum(turns[number].is_user for number in numbers)
    if user_turns >= 2:
        return True
    if user_turns == 0 or 0 not in numbers or plan.dropped_end.user_messages:
        return False
    return plan.equal >= 2 or same_opening
