"""The rounds of a chat: what the user said, and the turns that the others took until the user spoke again."""

from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from django.db import connection

from apps.chats.models import Chat, Message

MAX_ROUNDS = 100


@dataclass(frozen=True)
class Round:
    """``number`` counts from 0; what stands before the user's first message is a round without ``user``."""

    number: int
    user: list[Message]
    turns: list[Message]


def rounds_of(chat: Chat, start: int = 0, limit: int = 20) -> tuple[int, list[Round]]:
    """How many rounds the chat has, and up to ``limit`` of them from number ``start`` on. Hidden messages count."""
    total, numbers = _numbers(chat, start, limit)
    rows = Message.objects.for_owner(chat.owner_id).filter(pk__in=numbers).order_by("index")
    return total, [_round(number, list(said)) for number, said in groupby(rows, key=lambda row: numbers[row.pk])]


def _round(number: int, said: list[Message]) -> Round:
    user = [message for message in said if message.is_user]
    return Round(number, user, [message for message in said if not message.is_user])


def _numbers(chat: Chat, start: int, limit: int) -> tuple[int, dict[UUID, int]]:
    """The number of rounds, and the round of each message in those that are wanted, by its id."""
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
