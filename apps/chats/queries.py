"""Read chats, messages, characters and lorebooks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection, models
from django.db.models import Case, Count, Exists, F, FilteredRelation, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Cast, Coalesce, Greatest, Lower
from django.utils.translation import gettext

from apps.chats.models import Avatar, Character, CharacterImage, Chat, ChatImage, Lorebook, Message, Persona, Swipe
from apps.common.database.fields import OrderedJSONField
from apps.common.problems import Missing
from apps.common.scoping import Owner

MAX_WINDOW = 200  # messages
MAX_ROUNDS = 100

Row = TypeVar("Row", bound=models.Model)


class JSONRows(Subquery):
    """The rows of a subquery as a JSON array of objects, in its order."""

    template = "(SELECT coalesce(json_agg(row_to_json(found)), '[]') FROM (%(subquery)s) found)"
    output_field = OrderedJSONField()


@dataclass(frozen=True)
class Window:
    """Consecutive ``messages`` of ``chat``, from index ``start`` on."""

    chat: Chat
    start: int
    messages: list[Message]

    @property
    def end(self) -> int:
        return self.start + len(self.messages)


@dataclass(frozen=True)
class Round:
    """Consecutive messages of the user, and the messages of others until the user's next one.

    ``number`` counts from 0. Messages before the user's first one form a round without ``user``.
    """

    number: int
    user: list[Message]
    turns: list[Message]


@dataclass(frozen=True)
class Overview:
    """Whether an owner has chats, any in the archive, and personas; the tags of all chats, sorted."""

    has_chats: bool
    has_archive: bool
    tags: list[str]
    has_personas: bool


def access_chat(owner: Owner, chat_id: UUID) -> Chat:
    """Return the owner's chat. Raise Missing."""
    chats = Chat.objects.for_owner(owner).select_related("character").filter(pk=chat_id)
    return _first(chats, gettext("There is no such chat."))


def access_message(owner: Owner, chat_id: UUID, message_id: UUID) -> Message:
    """Return a message of the owner's chat. Raise Missing."""
    messages = Message.objects.for_owner(owner).with_swipes().filter(chat_id=chat_id, pk=message_id)
    messages = messages.filter(chat__deleted_at=None)
    return _first(messages, gettext("There is no such message in this chat."))


def access_character(owner: Owner, character_id: UUID) -> Character:
    """Return the owner's character. Raise Missing."""
    return _first(Character.objects.for_owner(owner).filter(pk=character_id), gettext("There is no such character."))


def access_persona(owner: Owner, persona_id: UUID) -> Persona:
    """Return the owner's persona. Raise Missing."""
    return _first(list_personas(owner).filter(pk=persona_id), gettext("There is no such persona."))


def access_avatar(owner: Owner, avatar_id: UUID) -> Avatar:
    """Return the owner's avatar. Raise Missing."""
    return _first(Avatar.objects.for_owner(owner).filter(pk=avatar_id), gettext("There is no such avatar."))


def access_chat_image(owner: Owner, key: UUID) -> ChatImage:
    """Return the owner's image with this key, of a chat that is not in the bin. Raise Missing."""
    images = ChatImage.objects.for_owner(owner).filter(key=key, chat__deleted_at=None)
    return _first(images.order_by("pk"), gettext("There is no such image."))


def access_lorebook(owner: Owner, lorebook_id: UUID) -> Lorebook:
    """Return the owner's lorebook. Raise Missing."""
    lorebooks = Lorebook.objects.for_owner(owner).select_related("character").filter(pk=lorebook_id)
    return _first(lorebooks, gettext("There is no such lorebook."))


def _first(rows: QuerySet[Row], detail: str) -> Row:
    row = rows.first()
    if row is None:
        raise Missing(detail)
    return row


def image_of(character: Character) -> CharacterImage | None:
    return CharacterImage.objects.for_owner(character.owner_id).filter(character=character).first()


def lorebook_of(character: Character) -> Lorebook | None:
    """Return the lorebook that belongs to the character."""
    return character.lorebooks.order_by("pk").first()


def lorebooks_in(chat: Chat, speaker: Character | None) -> list[Lorebook]:
    """Return the lorebooks of a prompt: of the chat and those that it branched from, the persona and the speaker."""
    chats = _chat_and_ancestors(chat)
    used = Q(chat__in=chats)
    used |= Q(persona=chat.persona_id) if chat.persona_id else Q()
    used |= Q(character=speaker) if speaker else Q()
    books = list(Lorebook.objects.for_owner(chat.owner_id).filter(used).order_by("pk"))
    # As in SillyTavern, the chat's come first, then the persona's: what they take of the budget is gone.
    return sorted(books, key=lambda book: (book.chat_id not in chats, book.persona_id != chat.persona_id))


def lorebooks_of_chat(chat: Chat) -> list[Lorebook]:
    """Return the lorebooks that are used with the chat itself, or with one that it branched from."""
    books = Lorebook.objects.for_owner(chat.owner_id).filter(chat__in=_chat_and_ancestors(chat))
    return list(books.order_by("pk"))


def _chat_and_ancestors(chat: Chat) -> list[UUID]:
    chats, parent = [chat.pk], chat.parent_id
    while parent is not None and parent not in chats:
        chats.append(parent)
        parent = Chat.objects.for_owner(chat.owner_id).filter(pk=parent).values_list("parent_id", flat=True).first()
    return chats


def list_chats(owner: Owner, words: str = "", *, tag: str = "", archived: bool | None = False) -> Any:
    """Return the owner's chats: pinned ones first, then those that were used last.

    Each has ``last_text``, and ``avatar_id`` of its character.

    With ``words`` or ``tag``, only those that match. ``archived`` chooses the archive; None means all chats.
    """
    chats = Chat.objects.for_owner(owner).select_related("character").with_last_text()
    chats = chats.annotate(avatar_id=F("character__avatar"))
    if archived is not None:
        chats = chats.filter(archived=archived)
    if tag:
        chats = chats.filter(tags__contains=[tag])
    return (chats.matching(words) if words else chats).order_by("-pinned", "-last_used", "-pk")


def overview_of(owner: Owner) -> Overview:
    """Return what the owner's chats can be filtered by, and whether the owner has personas."""
    personas = Persona.objects.for_owner(owner)
    chats = Chat.objects.for_owner(owner).order_by().annotate(has_personas=Exists(personas))
    rows = list(chats.values_list("archived", "tags", "has_personas").distinct())
    tags = {tag for _, tags, _ in rows for tag in tags}
    return Overview(
        has_chats=bool(rows),
        has_archive=any(archived for archived, _, _ in rows),
        tags=sorted(tags, key=str.casefold),
        has_personas=rows[0][2] if rows else personas.exists(),
    )


def list_personas(owner: Owner) -> QuerySet[Persona]:
    """Return the owner's personas by name, with their avatars, whose content is not read."""
    personas: QuerySet[Persona] = Persona.objects.for_owner(owner).select_related("avatar").defer("avatar__content")
    return personas.order_by(Lower("name"), "pk")


def default_persona(owner: Owner) -> Persona | None:
    """Return the persona that new chats begin with."""
    persona: Persona | None = Persona.objects.for_owner(owner).filter(is_default=True).first()
    return persona


def avatars_of(chat: Chat) -> dict[tuple[bool, str], UUID]:
    """Return the ids of the avatars of a chat's speakers by ``is_user`` and name.

    These are the owner's personas, the chat's character and its participants. Of two personas with one name it is the
    chat's own.
    """
    of_chat = FilteredRelation("character__participations", condition=Q(character__participations__chat=chat.pk))
    rows = (
        Avatar.objects.for_owner(chat.owner_id)
        .annotate(participant=of_chat, is_own=Case(When(persona=chat.persona_id, then=True), default=False))
        .filter(
            Q(persona__isnull=False, persona__deleted_at=None)
            | Q(character__isnull=False, character=chat.character_id)
            | Q(participant__isnull=False)
        )
        .order_by("is_own", "pk")  # of equal keys the last one stays
        .values_list("persona__name", Coalesce("participant__name", "character__name"), "pk")
    )
    return {(persona is not None, persona or name): pk for persona, name, pk in rows}


def list_characters(owner: Owner, words: str = "") -> QuerySet[Character]:
    """Return the owner's characters by name, with ``has_image`` and ``chat_count``.

    With ``words``, those whose name or tags contain them.
    """
    characters = Character.objects.for_owner(owner).annotate(
        has_image=Exists(CharacterImage.objects.for_owner(owner).filter(character=OuterRef("pk"))),
        chat_count=Count("chats", filter=Q(chats__deleted_at=None)),
    )
    if words:
        characters = characters.annotate(tag_text=Cast("tags", models.TextField())).filter(
            Q(name__icontains=words) | Q(tag_text__icontains=words)
        )
    ordered: QuerySet[Character] = characters.order_by(Lower("name"), "pk")
    return ordered


def message_window(owner: Owner, chat_id: UUID, start: int = 0, limit: int = 50) -> Window:
    """Return ``limit`` messages from index ``start`` on; a negative start counts from the end. Raise Missing.

    One statement reads them with the chat, since a write between two would give them another chat's state.
    """
    first = Greatest(F("message_count") + start, 0) if start < 0 else Value(start)
    end = OuterRef("first") + max(1, min(limit, MAX_WINDOW))
    swipes = Swipe.objects.for_owner(owner).filter(message=OuterRef("pk")).order_by("position")
    messages = Message.objects.for_owner(owner).filter(chat=OuterRef("pk"), index__gte=OuterRef("first"), index__lt=end)
    messages = messages.annotate(swipe_rows=JSONRows(swipes.values(*_columns(Swipe)))).order_by("index")
    chats = (
        Chat.objects.for_owner(owner)
        .select_related("character")
        .filter(pk=chat_id)
        .annotate(first=first, rows=JSONRows(messages.values(*_columns(Message), "swipe_rows")))
    )
    chat: Any = _first(chats, gettext("There is no such chat."))
    return Window(chat, chat.first, [_message_of(row) for row in chat.rows])


def _columns(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _message_of(row: dict[str, Any]) -> Message:
    """Return the message, with its swipes prefetched, of a row of ``JSONRows``."""
    message = _instance(Message, row)
    swipes = message.swipes.all()
    swipes._result_cache = [_instance(Swipe, swipe) for swipe in row["swipe_rows"]]
    message._prefetched_objects_cache = {"swipes": swipes}  # type: ignore[attr-defined]
    return message


def _instance(model: type[Row], row: dict[str, Any]) -> Row:
    values = [field.to_python(row[field.attname]) for field in model._meta.concrete_fields]
    return model.from_db(None, _columns(model), values)


def message_batches(
    chat: Chat,
    count: int | None = None,
    read: Callable[[Callable[[], list[Message]]], list[Message]] = lambda batch: batch(),
) -> Iterator[list[Message]]:
    """Yield the first ``count`` messages of a chat, or all, with their swipes, MAX_WINDOW at a time.

    Each batch is read when requested, by ``read``: later batches include concurrent writes.
    """
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("index")
    if count is not None:
        rows = rows.filter(index__lt=count)
    start = 0
    while batch := read(partial(list, rows.filter(index__gte=start)[:MAX_WINDOW])):
        yield batch
        start = batch[-1].index + 1


def rounds_of(chat: Chat, start: int = 0, limit: int = 20) -> tuple[int, list[Round]]:
    """Return the number of rounds in the chat, and up to ``limit`` of them from ``start`` on. Hidden messages count."""
    total, numbers = _round_numbers(chat, start, limit)
    rows = Message.objects.for_owner(chat.owner_id).filter(pk__in=numbers).order_by("index")
    rounds = []
    for number, group in groupby(rows, key=lambda row: numbers[row.pk]):
        messages = list(group)
        user = [message for message in messages if message.is_user]
        rounds.append(Round(number, user, [message for message in messages if not message.is_user]))
    return total, rounds


def _round_numbers(chat: Chat, start: int, limit: int) -> tuple[int, dict[UUID, int]]:
    """Return the number of rounds, and the round of each message from ``start`` on, by message id."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH turn AS (
                SELECT id, index,
                       index = 0 OR (is_user AND NOT lag(is_user) OVER (ORDER BY index)) AS begins_round
                FROM chats_message WHERE chat_id = %(chat)s
            ),
            numbered AS (
                SELECT id, (sum(begins_round::int) OVER (ORDER BY index))::int - 1 AS number FROM turn
            )
            SELECT id, number FROM numbered WHERE number >= %(start)s AND number < %(end)s
            UNION ALL SELECT NULL, coalesce(max(number) + 1, 0) FROM numbered
            """,
            {"chat": chat.pk, "start": start, "end": start + limit},
        )
        numbers = dict(cursor.fetchall())
    return numbers.pop(None), numbers
