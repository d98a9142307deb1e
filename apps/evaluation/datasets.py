"""Read evaluation data into stores of documents, with queries and the documents that answer them. Pure."""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.chats.dates import parse_date

ANSWERABLE = {1, 2, 3, 4}  # LoCoMo's categories; the fifth has no answer in the conversation

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):0*(\d+)")
_WEEKDAY = re.compile(r"\s*\([A-Za-z]+\)\s*")
_SECONDS = 1e11  # smaller numbers are seconds since 1970, larger ones are milliseconds


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


def _locomo_store(sample: Any, where: str, number: int) -> Store:
    conversation = required(sample, "conversation", dict, where)
    documents = list(_locomo_turns(conversation, where))
    known = {document.id for document in documents}
    queries = [
        _locomo_query(item, f"{where}.qa[{place}]")
        for place, item in enumerate(required(sample, "qa", list, where))
        if isinstance(item, dict) and item.get("category") in ANSWERABLE
    ]
    return Store(str(sample.get("sample_id", number)), documents, _answerable(queries, known))


def _locomo_turns(conversation: Mapping[str, Any], where: str) -> Iterator[Document]:
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    user = conversation.get("speaker_a")
    for number in numbers:
        at = _moment(conversation.get(f"session_{number}_date_time"))
        for place, turn in enumerate(required(conversation, f"session_{number}", list, where)):
            here = f"{where}.session_{number}[{place}]"
            speaker = required(turn, "speaker", str, here)
            turn_id = turn_ids(required(turn, "dia_id", str, here)) or [turn["dia_id"]]
            text = required(turn, "text", str, here)
            if caption := turn.get("blip_caption"):
                text = f"{text} [{caption}]"
            yield Document(turn_id[0], speaker, speaker == user, text, at, str(number))


def _locomo_query(item: Mapping[str, Any], where: str) -> Query:
    gold = [turn for entry in required(item, "evidence", list, where) for turn in turn_ids(str(entry))]
    return Query(required(item, "question", str, where), frozenset(gold), str(item["category"]))


def turn_ids(text: str) -> list[str]:
    """Return the ids of all turns named in a string, normalized: "D2:01" becomes "D2:1"."""
    return [f"D{session}:{turn}" for session, turn in _TURN.findall(text)]


def read_stores(data: Any) -> list[Store]:
    """Return the stores of ``{"stores": [{"id", "docs": [...], "queries": [...]}]}``.

    Required are only a document's id and text, and a query's ``q`` and ``gold``. Raise UnusableDataset.
    """
    stores = required(data, "stores", list, "the file")
    if not stores:
        raise UnusableDataset("The file contains no store.")
    return [_store(store, f"stores[{number}]", number) for number, store in enumerate(stores)]


def _store(store: Any, where: str, number: int) -> Store:
    documents = [_document(item, f"{where}.docs[{n}]") for n, item in enumerate(required(store, "docs", list, where))]
    known = {document.id for document in documents}
    if len(known) < len(documents):
        raise UnusableDataset(f"{where}.docs: two documents have the same id.")
    queries = [_query(item, f"{where}.queries[{n}]") for n, item in enumerate(required(store, "queries", list, where))]
    return Store(str(store.get("id", number)), documents, _answerable(queries, known))


def _document(item: Any, where: str) -> Document:
    text = required(item, "text", str, where)
    speaker, session = item.get("speaker"), item.get("session")
    return Document(
        id=str(required(item, "id", (str, int), where)),
        speaker=str(speaker or ""),
        is_user=item.get("is_user") is True,
        text=text,
        at=_moment(item.get("at")),
        session=None if session is None else str(session),
    )


def _query(item: Any, where: str) -> Query:
    gold = required(item, "gold", (list, str, int), where)
    gold = gold if isinstance(gold, list) else [gold]
    return Query(required(item, "q", str, where), frozenset(map(str, gold)), str(item.get("category", "")))


FORMATS: dict[str, Callable[[Any], list[Store]]] = {"locomo": read_locomo, "stores": read_stores}


def _answerable(queries: list[Query], known: set[str]) -> list[Query]:
    """Return the queries with an answer in the store, without gold that is not in the store."""
    present = [Query(query.text, query.gold & known, query.category) for query in queries]
    return [query for query in present if query.gold and query.text.strip()]


def _moment(value: Any) -> dt.datetime | None:
    """Return the time in any format that data sets use, or None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return parse_date(value * 1000 if value < _SECONDS else value)
    if not isinstance(value, str):
        return None
    plain = _WEEKDAY.sub(" ", value).strip()
    return parse_date(value) or parse_date(plain) or parse_date(plain.replace("/", "-"))


def required(mapping: Any, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Return the value of a required key, which must be of ``kind``. Raise UnusableDataset."""
    if not isinstance(mapping, dict):
        raise UnusableDataset(f"{where} is not an object.")
    if not isinstance(mapping.get(key), kind):
        problem = "is missing" if key not in mapping else f"has the wrong type ({type(mapping[key]).__name__})"
        raise UnusableDataset(f"{where}: {key!r} {problem}.")
    return mapping[key]
