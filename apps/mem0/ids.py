"""The ids of mem0's clients: a user is a namespace, an agent a character in it, each combination a chat."""

from contextlib import suppress
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat
from apps.chats.operations import create_character, create_chat, purge_chat
from apps.common.jobs import lock_owner
from apps.common.problems import Conflict, Invalid, Missing
from apps.common.scoping import Owner, owner_id_of
from apps.mem0.models import Mem0Chat
from apps.memories.operations.namespaces import erase_namespace

MAX_TRIES = 3  # to find or to create a chat that others create and delete meanwhile
DEFAULT_AGENT = "Assistant"  # the character of what is added without an agent


class _CreatedMeanwhile(Exception):
    """Another request created the chat before this one had locked the owner."""


class Ids(NamedTuple):
    """The ids of an add; empty where none is given."""

    user: str = ""
    agent: str = ""
    app: str = ""
    run: str = ""

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Ids":
        """Return the ids in ``user_id``, ``agent_id``, ``app_id`` and ``run_id``. Raise Invalid without any."""
        ids = cls(*(str(fields.get(f"{name}_id") or "") for name in cls._fields))
        if not any(ids):
            raise Invalid.at("/user_id", "Name a user_id, an agent_id, an app_id or a run_id.")
        return ids

    @property
    def columns(self) -> dict[str, str]:
        return {"namespace": self.user, "agent": self.agent, "app": self.app, "run": self.run}


def chat_of(owner: Owner, ids: Ids) -> Chat:
    """Return the chat of the ids, out of the bin, and create it and the agent's character if there is none.

    It is locked, so that its user, agent or run is not deleted before what is added is stored, and deleted too.
    """
    for _ in range(MAX_TRIES):
        if found := _find(owner, ids):
            with suppress(Missing):  # it has been deleted meanwhile
                return lock_chat(owner, found.pk)
        with suppress(_CreatedMeanwhile):
            return _create(owner, ids)
    raise Conflict("It is being created. Send the request again.")


def _find(owner: Owner, ids: Ids) -> Chat | None:
    return (
        Chat.objects.for_owner(owner).filter(**{f"mem0__{name}": value for name, value in ids.columns.items()}).first()
    )


@transaction.atomic
def _create(owner: Owner, ids: Ids) -> Chat:
    """Create a chat. One at a time for an owner: of two requests, the second one finds what the first created.

    It raises _CreatedMeanwhile then, which gives back the owner's lock with this savepoint. A chat is locked before its
    owner, as everywhere: else a deletion of the user, which holds the chat, would wait for what waits for it.
    """
    lock_owner(owner)
    if _find(owner, ids):
        raise _CreatedMeanwhile
    rows = Mem0Chat.objects.for_owner(owner)
    rows.filter(**ids.columns).delete()  # its chat is in the bin, and keeps what was learnt in it there
    same_agent = rows.filter(namespace=ids.user, agent=ids.agent, chat__character__isnull=False)
    known = same_agent.select_related("chat__character").order_by("pk").first()
    character: Character = (
        known.chat.character  # type: ignore[assignment]
        if known
        else create_character(owner, name=ids.agent or DEFAULT_AGENT, namespace=ids.user)
    )
    title = " · ".join(filter(None, (ids.run, ids.app, ids.agent or DEFAULT_AGENT)))[:200]
    chat = create_chat(owner, title=title, character=character, user_name=ids.user[:200], namespace=ids.user)
    try:
        Mem0Chat.objects.create(owner_id=owner_id_of(owner), chat=chat, **ids.columns)
    except IntegrityError:  # pragma: no cover - the owner's lock prevents it
        raise Invalid.at("/user_id", "It is being created. Send the request again.") from None
    return chat


def erase_entity(owner: Owner, kind: str, name: str, namespace: str | None = None) -> None:
    """Delete a user, an agent, an app or a run for good, with all that was added. Raise Missing for other kinds.

    If a namespace is named, nothing else is touched: a user of another name isn't there.

    One that isn't there, or no longer, is deleted already: a client that deletes all of them takes the chats of a run
    with its user.
    """
    if kind not in Ids._fields or not name or "\x00" in name:
        raise Missing("There is no such kind of entity.")
    bound = {} if namespace is None else {"namespace": namespace}
    if kind == "user":
        if namespace not in (None, name):
            raise Missing("There is no such user.")
        with suppress(Missing):
            erase_namespace(owner, name)
        return
    rows = Mem0Chat.objects.for_owner(owner).filter(**bound, **{kind: name}).order_by("chat")
    for chat_id in list(rows.values_list("chat", flat=True)):
        with suppress(Missing):
            purge_chat(owner, chat_id, keep_memories=False)
