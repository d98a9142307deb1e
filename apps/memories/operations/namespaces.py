"""Erase all of a namespace."""

from django.db import transaction

from apps.chats.models import Character, Chat
from apps.chats.operations import delete_character, purge_chat
from apps.common.problems import Missing
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of
from apps.memories.models import Memory
from apps.memories.signals import namespace_erased, tombstones_changed


@transaction.atomic
def erase_namespace(owner: Owner, namespace: str) -> int:
    """Delete all chats, characters and memories of a namespace for good, and return how many rows that were.

    Nothing is left of them in the bin or as a tombstone. Raise Missing if there is nothing, or for the owner's own.
    """
    if namespace == OWN_NAMESPACE:
        raise Missing("There is no such namespace.")
    # All chats, in the bin or not, are locked before the owner, whom deleting the first one locks.
    rows = Chat._base_manager.filter(owner_id=owner_id_of(owner), namespace=namespace).select_for_update()
    chats = list(rows.order_by("pk").values_list("pk", flat=True))
    for chat_id in chats:
        purge_chat(owner, chat_id, keep_memories=False, with_namespace=True)
    characters = list(Character.objects.for_owner(owner).in_namespace(namespace).order_by("pk"))
    for character in characters:
        delete_character(character)
    memories, _ = Memory.with_bin.for_owner(owner).in_namespace(namespace).delete()
    erased = len(chats) + len(characters) + memories
    if not erased:
        raise Missing("There is no such namespace.")
    tombstones_changed.send(Memory, owner_id=owner_id_of(owner))
    # Last, so that a write which held one of these rows has ended, and what it stored is seen.
    namespace_erased.send(Memory, owner_id=owner_id_of(owner), namespace=namespace)
    return erased
