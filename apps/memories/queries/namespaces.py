"""Read which namespaces an owner has: end users of the owner's own application."""

import datetime as dt
from dataclasses import dataclass

from django.db import connection

from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of

_SQL = """
SELECT namespace, sum(memories)::int, sum(chats)::int, sum(characters)::int, min(since), max(until)
FROM (
    SELECT namespace, count(*) FILTER (WHERE deleted_at IS NULL AND NOT in_bin) AS memories,
        0 AS chats, 0 AS characters, min(created_at) AS since, max(updated_at) AS until
    FROM memories_memory
    WHERE owner_id = %(owner)s AND namespace > %(after)s AND (%(named)s::text IS NULL OR namespace = %(named)s)
    GROUP BY namespace
    UNION ALL
    SELECT namespace, 0, count(*) FILTER (WHERE deleted_at IS NULL), 0, min(created_at), max(updated_at)
    FROM chats_chat
    WHERE owner_id = %(owner)s AND namespace > %(after)s AND (%(named)s::text IS NULL OR namespace = %(named)s)
    GROUP BY namespace
    UNION ALL
    SELECT namespace, 0, 0, count(*), min(created_at), max(updated_at)
    FROM chats_character
    WHERE owner_id = %(owner)s AND namespace > %(after)s AND (%(named)s::text IS NULL OR namespace = %(named)s)
    GROUP BY namespace
) AS counted
GROUP BY namespace ORDER BY namespace LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Namespace:
    """A namespace with what it has, outside the bin, and when that was first and last written."""

    namespace: str
    memories: int
    chats: int
    characters: int
    created_at: dt.datetime
    updated_at: dt.datetime


def namespaces_of(
    owner: Owner, *, named: str | None = None, after: str = OWN_NAMESPACE, limit: int | None = None
) -> list[Namespace]:
    """Return the owner's namespaces that have anything, by name, from the first one after ``after``.

    If one is ``named``, nothing of the others is read.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SQL, {"owner": owner_id_of(owner), "named": named, "after": after, "limit": limit})
        return [Namespace(*row) for row in cursor.fetchall()]
