"""Run the queries of an evaluation, in a database of its own.

Each store is imported as a chat, indexed, searched and rolled back.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from apps.accounts.models import User
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat
from apps.chats.operations import append_messages, create_chat
from apps.evaluation.datasets import Document, Store
from apps.evaluation.metrics import measure
from apps.evaluation.own_database import own_database
from apps.search.indexing import index_messages
from apps.search.questions import kind_of
from apps.search.scope import MESSAGES
from apps.search.service import SearchQuery, find
from apps.text.languages import script_or_language_of

METHODS = ("default", "dense", "ts_rank", "bm25", "seed")
BATCH_SIZE = 1000


@dataclass(frozen=True)
class QueryResult:
    """The measures of one method for one query. ``kind`` and ``language`` are those that the search reads from it."""

    store: str
    method: str
    category: str
    kind: str
    language: str
    measures: dict[str, float]


def run(stores: Sequence[Store], report: Callable[[str], None] = lambda line: None) -> list[QueryResult]:
    """Return the measures of every method for every query. Call ``report`` with progress lines. Raise NoDatabase."""
    query_results = []
    with own_database():
        for number, store in enumerate(stores, 1):
            with _imported(store) as (chat, documents):
                report(f"{number}/{len(stores)} {store.id}: {len(documents)} messages, {len(store.queries)} queries")
                query_results += list(_query_results(store, chat, documents))
    return query_results


@contextmanager
def _imported(store: Store) -> Iterator[tuple[Chat, dict[UUID, str]]]:
    """Import a store as a chat of a new user. Roll everything back at the end.

    Yield the chat and the document id of each message by message id.
    """
    with transaction.atomic():
        owner = User.objects.create_user(f"evaluation-{secrets.token_hex(8)}@localhost")
        chat = create_chat(owner, title=store.id[:200])
        documents = dict(_append(owner, chat, store.documents))
        chat.refresh_from_db()
        index_messages(owner, chat)
        # Autovacuum sees no rows of an open transaction, and without figures the plans are those of an empty table.
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE memories_passage")
        yield chat, documents
        transaction.set_rollback(True)


def _append(owner: User, chat: Chat, documents: Sequence[Document]) -> Iterator[tuple[UUID, str]]:
    """Append documents to the chat. Yield the id of each message with the id of its document."""
    for start in range(0, len(documents), BATCH_SIZE):
        batch = documents[start : start + BATCH_SIZE]
        messages = append_messages(owner, chat.pk, [_message(document) for document in batch]).messages
        yield from ((message.pk, document.id) for message, document in zip(messages, batch, strict=True))


def _message(document: Document) -> ParsedMessage:
    extra = {} if document.session is None else {"session": document.session}
    return ParsedMessage(
        name=document.speaker[:200],
        is_user=document.is_user,
        is_system=False,
        send_date=document.at.isoformat() if document.at else "",
        sent_at=document.at,
        swipe_id=0,
        # Postgres stores no NUL in a text.
        swipes=(ParsedSwipe(document.text.replace("\x00", "�"), extra),),
        layout="",
    )


def _query_results(store: Store, chat: Chat, documents: dict[UUID, str]) -> Iterator[QueryResult]:
    for query in store.queries:
        kind, language = kind_of(query.text), script_or_language_of(query.text)
        for method in METHODS:
            search_query = SearchQuery(query.text, chat=chat.pk, tiers=(MESSAGES,), preset=method)
            ranked = find(chat.owner_id, search_query).hits
            ranking = [documents[result.hit.id] for result in ranked]
            yield QueryResult(store.id, method, query.category, kind, language, measure(ranking, query.gold))
