"""Checks of what the database itself can't promise, and repairs.

Constraints keep most promises. These are left: that positions have no gaps, that counts are right, that links stay with
their owner, that files and rows name each other, and that what is searched has vectors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import connection, transaction

from apps.launcher.integrity.files import (
    chats_missing_in_mirror,
    delete_files,
    fail_imports,
    files_without_import,
    files_without_snapshot,
    imports_without_file,
    mirror_again,
    mirrored_files_without_chat,
    snapshots_without_file,
)
from apps.launcher.integrity.finding import embed, links_to_other_owners, owners_without_vectors


@dataclass(frozen=True)
class Check:
    """A promise; what breaks it, as ids or names; and a repair of these, if there is one."""

    promise: str
    find: Callable[[], list[str]]
    repair: Callable[[list[str]], object] | None = None


def ids(sql: str) -> Callable[[], list[str]]:
    """Return a function that returns the first column of a query."""

    def find() -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return [str(row[0]) for row in cursor.fetchall()]

    return find


def statements(*sql: str) -> Callable[[list[str]], None]:
    """Return a function that executes statements about ``%(ids)s`` in one transaction."""

    def repair(found: list[str]) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in sql:
                cursor.execute(statement, {"ids": found})

    return repair


# A client that follows the chat is told to read it again: its change log doesn't know of the repair.
RENUMBER_MESSAGES = (
    "SELECT 1 FROM chats_chat WHERE id = ANY(%(ids)s::uuid[]) ORDER BY id FOR UPDATE",
    """UPDATE chats_message AS message SET "index" = numbered.position
    FROM (SELECT id, row_number() OVER (PARTITION BY chat_id ORDER BY "index") - 1 AS position
        FROM chats_message WHERE chat_id = ANY(%(ids)s::uuid[])) AS numbered
    WHERE message.id = numbered.id AND message."index" <> numbered.position""",
    "DELETE FROM chats_chatchange WHERE chat_id = ANY(%(ids)s::uuid[])",
    "UPDATE chats_chat SET integrity = gen_random_uuid() WHERE id = ANY(%(ids)s::uuid[])",
)
COUNTED = "(SELECT count(*) FROM chats_message WHERE chat_id = chats_chat.id)"
RENUMBER_SWIPES = (
    "SELECT 1 FROM chats_message WHERE id = ANY(%(ids)s::uuid[]) ORDER BY id FOR UPDATE",
    """UPDATE chats_swipe AS swipe SET position = numbered.position
    FROM (SELECT id, row_number() OVER (PARTITION BY message_id ORDER BY position) - 1 AS position
        FROM chats_swipe WHERE message_id = ANY(%(ids)s::uuid[])) AS numbered
    WHERE swipe.id = numbered.id AND swipe.position <> numbered.position""",
)
LAST_SWIPE = "(SELECT max(position) FROM chats_swipe WHERE message_id = chats_message.id)"


CHECKS = (
    Check(
        "Messages of a chat are numbered without gaps.",
        ids('SELECT chat_id FROM chats_message GROUP BY chat_id HAVING count(*) <> max("index") + 1'),
        statements(*RENUMBER_MESSAGES),
    ),
    Check(
        "A chat knows the number of its messages.",
        ids(f"SELECT id FROM chats_chat WHERE message_count <> {COUNTED}"),  # noqa: S608
        statements(f"UPDATE chats_chat SET message_count = {COUNTED} WHERE id = ANY(%(ids)s::uuid[])"),  # noqa: S608
    ),
    Check(
        "Swipes of a message are numbered without gaps.",
        ids("SELECT message_id FROM chats_swipe GROUP BY message_id HAVING count(*) <> max(position) + 1"),
        statements(*RENUMBER_SWIPES),
    ),
    Check(
        "The active swipe of a message exists.",
        ids(f"SELECT id FROM chats_message WHERE swipe_id > {LAST_SWIPE}"),  # noqa: S608
        statements(f"UPDATE chats_message SET swipe_id = {LAST_SWIPE} WHERE id = ANY(%(ids)s::uuid[])"),  # noqa: S608
    ),
    Check(
        "A message has a swipe.",
        ids(f"SELECT id FROM chats_message WHERE {LAST_SWIPE} IS NULL"),  # noqa: S608
        statements(
            """INSERT INTO chats_swipe (id, owner_id, message_id, position, mes, extra, info, instance, created_at)
            SELECT gen_random_uuid(), owner_id, id, 0, '', '{}', '{}', '', now() FROM chats_message
            WHERE id = ANY(%(ids)s::uuid[])"""
        ),
    ),
    Check(
        "The source of a memory is a swipe of the message it names.",
        ids(
            """SELECT source.id FROM memories_memorysource AS source
            JOIN chats_swipe AS swipe ON swipe.id = source.swipe_id WHERE swipe.message_id <> source.message_id"""
        ),
        statements(
            """UPDATE memories_memorysource AS source SET message_id = swipe.message_id FROM chats_swipe AS swipe
            WHERE swipe.id = source.swipe_id AND source.id = ANY(%(ids)s::uuid[])"""
        ),
    ),
    Check("Links lead to rows of the same owner.", links_to_other_owners),
    Check("Files of imports belong to an import.", files_without_import, delete_files),
    Check("Imports that have not ended have their file.", imports_without_file, fail_imports),
    Check("Files of snapshots belong to a snapshot.", files_without_snapshot, delete_files),
    # No repair: the folder may not be mounted, or comes from a backup.
    Check("Snapshots have their file.", snapshots_without_file),
    Check("What the mirror has by its rows is there.", chats_missing_in_mirror, mirror_again),
    # No repair: after a database was restored from a backup, it is the only copy of what was written since.
    Check("Files of the mirror belong to a chat.", mirrored_files_without_chat),
    Check("What is searched has vectors of the current model.", owners_without_vectors, embed),
)


def run_checks(*, repair: bool) -> Iterator[tuple[Check, list[str], bool]]:
    """Yield each check, what breaks its promise, and whether that was repaired."""
    for check in CHECKS:
        found = check.find()
        is_repaired = bool(found and repair and check.repair)
        if is_repaired and check.repair:
            check.repair(found)
        yield check, found, is_repaired
