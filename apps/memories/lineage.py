"""The tree of branches that a chat belongs to.

A branch and its parent continue one story differently: what one of them learns after the branch point must not reach
the other.
"""

from uuid import UUID

from django.db import connection

from apps.chats.models import Chat


def relatives(chat: Chat | UUID) -> list[UUID]:
    """Return the ids of all other chats in the chat's tree of branches."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH RECURSIVE ancestors AS (
                SELECT id, parent_id FROM chats_chat WHERE id = %(chat)s
                UNION SELECT chat.id, chat.parent_id FROM chats_chat AS chat JOIN ancestors
                    ON chat.id = ancestors.parent_id
            ),
            tree AS (
                SELECT id FROM ancestors
                UNION SELECT chat.id FROM chats_chat AS chat JOIN tree ON chat.parent_id = tree.id
            )
            SELECT id FROM tree WHERE id <> %(chat)s
            """,
            {"chat": chat.pk if isinstance(chat, Chat) else chat},
        )
        return [row[0] for row in cursor.fetchall()]
