"""Read chats by rounds: what the user says, and the answers."""

from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from django.db import connection

from apps.chats.models import Chat, Message

MAX_ROUNDS = 100


@dataclass(frozen=True)
class Round:
    """Consecutive messages of the user, and the messages of others until the user's next one.

    ``number`` counts from 0. Messages before the user's first one form a round without ``user``.
    """

    number: int
    user: list[Message]
    turns: list[Message]


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
