"""Find messages that are not in the search index yet, by their words."""

from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Q

from apps.chats.models import Message, Swipe
from apps.common.scoping import OWN_NAMESPACE, Owner

MAX_WORDS = 10
MAX_RESULTS = 10


@dataclass(frozen=True)
class UnindexedMessages:
    """The number of messages whose present text is not indexed yet, and the newest of them that contain all words."""

    count: int
    found: list[Message]


def find_unindexed(owner: Owner, words: str) -> UnindexedMessages:
    """Search the owner's own messages that the index lacks, such as those of a chat that was imported a minute ago."""
    messages = Message.objects.for_owner(owner).filter(chat__deleted_at=None, chat__namespace=OWN_NAMESPACE)
    waiting = messages.exclude(passage__message_rev=F("rev"))
    count = waiting.count()
    if not count:
        return UnindexedMessages(0, [])
    contains_all = Q()
    for word in words.split()[:MAX_WORDS]:
        contains_all &= Q(mes__icontains=word)
    active = Swipe.objects.for_owner(owner).filter(message=OuterRef("pk"), position=OuterRef("swipe_id"))
    found = waiting.filter(Exists(active.filter(contains_all))).select_related("chat").with_swipes()
    return UnindexedMessages(count, list(found.order_by("-pk")[:MAX_RESULTS]))
