"""Read evaluation data as stores of documents, with queries and documents answering them. Without database access."""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.chats.dates import parse_date

ANSWERABLE_CATEGORIES = {1, 2, 3, 4}  # LoCoMo's categories; the fifth has no answer in the conversation

_SESSION_KEY = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D:?(\d+):0*(\d+)")
_WEEKDAY = re.compile(r"\s*\([A-Za-z]+\)\s*")


class UnusableDataset(ValueError):
    """Raised for data that is not in the expected format. The message says where."""


@dataclass(frozen=True)
class Document:
    """One message of a store. ``at`` is its time, ``session`` its session's name, if known."""

    id: str
    speaker: str
    is_user: bool
    text: str
    at: dt.datetime | None
    session: str | None


@dataclass(frozen=True)
class Query:
    """A question. ``gold`` holds the ids of the documents that answer it."""

    text: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True)
class Store:
    """A conversation with queries about it."""

    id: str
    documents: list[Document]
    queries: list[Query]


def read_json(file: Path) -> Any:
    """Return the JSON value of a file. Raise UnusableDataset, OSError."""
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UnusableDataset(f"it is not JSON: {error}") from None


def read_locomo(data: Any) -> list[Store]:
    """Return a store for each conversation of LoCoMo's file. A query's gold is the evidence of its answer.

    Raise UnusableDataset.
    """
    samples = data if isinstance(data, list) else [data]
    if not samples:
        raise UnusableDataset("The file contains no conversation.")
    return [_locomo_store(sample, f"[{number}]", number) for number, sample in enumerate(samples)]


def _locomo_store(sample: Any, path: str, number: int) -> Store:
    conversation = required(sample, "conversation", dict, path)
    documents = list(_locomo_documents(conversation, path))
    document_ids = {document.id for document in documents}
    queries = [
        _locomo_query(item, f"{path}.qa[{index}]")
        for index, item in enumerate(required(sample, "qa", list, path))
        if isinstance(item, dict) and item.get("category") in ANSWERABLE_CATEGORIES
    ]
    return Store(str(sample.get("sample_id", number)), documents, _answerable_queries(queries, document_ids))


def _locomo_documents(conversation: Mapping[str, Any], path: str) -> Iterator[Document]:
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION_KEY.fullmatch(key)))
    user = conversation.get("speaker_a")
    for number in numbers:
        at = _parse_time(conversation.get(f"session_{number}_date_time"))
        for index, turn in enumerate(required(conversation, f"session_{number}", list, path)):
            turn_path = f"{path}.session_{number}[{index}]"
            speaker = required(turn, "speaker", str, turn_path)
            turn_id = turn_ids(required(turn, "dia_id", str, turn_path)) or [turn["dia_id"]]
            text = required(turn, "text", str, turn_path)
            # LoCoMo's pictures are not in the file, but its questions are about them too.
            if caption := turn.get("blip_caption"):
                text = f"{text} [{caption}]"
            yield Document(turn_id[0], speaker, speaker == user, text, at, str(number))


def _locomo_query(item: Mapping[str, Any], path: str) -> Query:
    gold = [turn for entry in required(item, "evidence", list, path) for turn in turn_ids(str(entry))]
    return Query(required(item, "question", str, path), frozenset(gold), str(item["category"]))


def turn_ids(text: str) -> list[str]:
    """Return the ids of all turns named in a string, normalized: "D2:01" becomes "D2:1"."""
    return [f"D{session}:{turn}" for session, turn in _TURN_ID.findall(text)]


def read_stores(data: Any) -> list[Store]:
    """Return the stores of ``{"stores": [{"id", "docs": [...], "queries": [...]}]}``.

    Required are only a document's id and text, and a query's ``q`` and ``gold``. Raise UnusableDataset.
    """
    stores = required(data, "stores", list, "the file")
    if not stores:
        raise UnusableDataset("The file contains no store.")
    return [_store(store, f"stores[{number}]", number) for number, store in enumerate(stores)]


def _store(store: Any, path: str, number: int) -> Store:
    documents = [_document(item, f"{path}.docs[{n}]") for n, item in enumerate(required(store, "docs", list, path))]
    document_ids = {document.id for document in documents}
    if len(document_ids) < len(documents):
        raise UnusableDataset(f"{path}.docs: two documents have the same id.")
    queries = [_query(item, f"{path}.queries[{n}]") for n, item in enumerate(required(store, "queries", list, path))]
    return Store(str(store.get("id", number)), documents, _answerable_queries(queries, document_ids))


def _document(item: Any, path: str) -> Document:
    text = required(item, "text", str, path)
    speaker, session = item.get("speaker"), item.get("session")
    return Document(
        id=str(required(item, "id", (str, int), path)),
        speaker=str(speaker or ""),
        is_user=item.get("is_user") is True,
        text=text,
        at=_parse_time(item.get("at")),
        session=None if session is None else str(session),
    )


def _query(item: Any, path: str) -> Query:
    gold = required(item, "gold", (list, str, int), path)
    gold = gold if isinstance(gold, list) else [gold]
    return Query(required(item, "q", str, path), frozenset(map(str, gold)), str(item.get("category", "")))


READERS: dict[str, Callable[[Any], list[Store]]] = {"locomo": read_locomo, "stores": read_stores}


def _answerable_queries(queries: list[Query], document_ids: set[str]) -> list[Query]:
    """Return the queries with an answer in the store, without gold that is not in the store."""
    answered = [Query(query.text, query.gold & document_ids, query.category) for query in queries]
    return [query for query in answered if query.gold and query.text.strip()]


def _parse_time(value: Any) -> dt.datetime | None:
    """Parse a time in any of the formats that data sets use. Return None if it is in no such format."""
    if not isinstance(value, str):
        return parse_date(value)
    plain = _WEEKDAY.sub(" ", value).strip()
    return parse_date(value) or parse_date(plain) or parse_date(plain.replace("/", "-"))


def required(mapping: Any, key: str, kind: type | tuple[type, ...], path: str) -> Any:
    """Return the value of a required key, which must be of ``kind``. Raise UnusableDataset, which names ``path``."""
    if not isinstance(mapping, dict):
        raise UnusableDataset(f"{path} is not an object.")
    if not isinstance(mapping.get(key), kind):
        problem = "is missing" if key not in mapping else f"has the wrong type ({type(mapping[key]).__name__})"
        raise UnusableDataset(f"{path}: {key!r} {problem}.")
    return mapping[key]
