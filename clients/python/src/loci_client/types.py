"""Types of the JSON documents of the HTTP API. Replies may have further fields."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

Item = TypeVar("Item")


class FieldError(TypedDict):
    pointer: str
    detail: str


class Chat(TypedDict):
    id: str
    title: str
    character: str | None
    user_name: str
    persona: NotRequired[str | None]
    metadata: dict[str, Any]
    integrity: str
    rev: int
    message_count: int
    is_group: bool
    parent: str | None
    parent_index: int | None
    is_checkpoint: bool
    pinned: bool
    archived: bool
    folder: str
    tags: list[str]
    last_active: str | None
    last_used: str | None
    deleted_at: str | None
    created_at: str
    updated_at: str


class Message(TypedDict):
    """``mes`` and ``extra`` are those of the active swipe; ``is_system`` means hidden from the prompt."""

    id: str
    index: int
    rev: int
    name: str
    participant: str | None
    is_user: bool
    is_system: bool
    send_date: str | int | float | None
    mes: str
    extra: dict[str, Any]
    swipe_id: int
    swipes: list[str]
    swipe_info: list[dict[str, Any]]
    hidden: bool
    created_at: str
    updated_at: str


class NewMessage(TypedDict, total=False):
    """A message to store. The server fills in missing fields."""

    name: str
    is_user: bool
    is_system: bool
    participant: str | None
    send_date: str | int | float
    mes: str
    extra: dict[str, Any]
    swipe_id: int
    swipes: list[str]
    swipe_info: list[dict[str, Any]]


class Splice(TypedDict):
    """Replace ``delete`` characters at ``at`` by ``insert``. Counts Unicode code points."""

    at: int
    delete: int
    insert: str


class NewSwipe(TypedDict):
    mes: str
    extra: NotRequired[dict[str, Any]]


class DataChange(TypedDict):
    """Keys of a namespace of a message's data to set, and to delete. None is a value."""

    namespace: str
    values: NotRequired[Mapping[str, Any]]
    clear: NotRequired[Sequence[str]]


class Patch(TypedDict, total=False):
    """Changes to one message. ``delete`` can't be combined with others."""

    id: str
    index: int
    if_rev: int
    add_swipe: NewSwipe
    delete_swipe: int
    swipe_order: list[int]
    swipe_id: int
    set: dict[str, Any]
    extra: dict[str, Any]
    data: DataChange
    splice: Splice
    insert_before: NewMessage
    move_to: int
    delete: bool


class Place(TypedDict):
    index: int
    id: str
    rev: int


class Page(TypedDict, Generic[Item]):
    next: str | None
    previous: str | None
    results: list[Item]


Window = TypedDict("Window", {"integrity": str, "rev": int, "total": int, "from": int, "results": list[Message]})


class Written(TypedDict):
    integrity: str
    rev: int


class Appended(Written):
    message_count: int
    appended: list[Place]
    deduplicated: int


class Patched(Written):
    applied: int
    skipped: int
    messages: list[Place]


class MetadataWritten(Written):
    metadata: dict[str, Any]
    applied: int
    skipped: int


class Undone(Written):
    """``undone`` is the rev of the write that was undone, ``kind`` its kind."""

    undone: int
    kind: str
    messages: list[Place]
    deleted: list[str]
    metadata: dict[str, Any] | None


class Change(Written):
    """One write to a chat. ``messages`` are the present states of those it changed.

    ``metadata`` is a merge patch (RFC 7396), or the whole metadata if ``metadata_replaced``. Of ``replaced_keys`` it
    has the values, which hold a null, instead of a patch. A change of the kind ``tombstones``, which is no write to the
    chat, names memories that were deleted.
    """

    kind: str
    at: str | None
    messages: list[Message]
    deleted: list[str]
    metadata: dict[str, Any] | None
    metadata_replaced: NotRequired[bool]
    replaced_keys: NotRequired[list[str]]
    tombstones: NotRequired[list["Tombstone"]]
    chat: NotRequired["ChatDetails | None"]


class ChatDetails(TypedDict):
    """What a change of the kind ``details`` may have changed, as it is now."""

    title: str
    character: str | None
    user_name: str
    persona: NotRequired[str | None]


class Tombstone(TypedDict):
    """A deleted memory."""

    id: str
    chat: str | None
    at: str


class Tombstones(TypedDict):
    tombstones: list[Tombstone]
    until: str
    complete: bool


class Changes(Written):
    """What was written since a state. Unless ``tombstones_complete``, ``get_tombstones`` has the others."""

    changes: list[Change]
    tombstones: list[Tombstone]
    tombstones_until: str
    tombstones_complete: bool
    next: str | None


class Conflict(TypedDict, total=False):
    """A message (``id``) or a key of a document (``key``) that both sides changed, with its present value."""

    id: str
    key: str
    theirs: Any


class Operation(TypedDict, total=False):
    """An operation of a JSON Patch (RFC 6902). Move and copy also have ``from``."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    value: Any


class SkippedLine(TypedDict):
    line: int
    reason: str


class ImportReport(TypedDict):
    format: str
    messages: int
    skipped_lines: list[SkippedLine]
    warnings: list[str]


class Imported(TypedDict):
    chats: list[Chat]
    report: ImportReport


class Settings(TypedDict):
    integrity: str
    settings: dict[str, Any]
    rev: NotRequired[int]
    revs: NotRequired[dict[str, int]]


class Recall(TypedDict):
    """What was remembered for a message of the user. ``memories`` are entries with id, text, score and signals."""

    id: str | None
    message: str | None
    index: int | None
    text: str
    edited: bool
    source: Literal["fresh", "persistent"]
    memories: list[dict[str, Any]]
    graph: dict[str, Any]
    tokens: int
    created_at: str
    updated_at: str


class Scene(TypedDict):
    """A scene, from index ``start`` to ``end``. Its id is that of the message that ends it.

    ``outdated`` says whether messages were changed since the recap was written; None: that isn't known.
    """

    id: str
    start: int
    end: int
    name: str | None
    visible: bool
    collapsed: bool
    recap: str | None
    versions: list[Any]
    current: int | None
    hash: str | None
    outdated: bool | None
    include: bool
    metadata: dict[str, Any]
    detected: bool


JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class Snapshot(TypedDict):
    """An archive of a chat or of the account."""

    id: str
    kind: str
    chat: str | None
    title: str
    state: JobState
    done: int
    total: int
    size: int | None
    error: str
    taken_at: str | None
    created_at: str
    finished_at: str | None


class Restore(TypedDict):
    """A restore of a snapshot. ``safety`` is a snapshot of what it replaced."""

    id: str
    snapshot: str
    safety: str | None
    state: JobState
    error: str


class DataWritten(Written):
    data: dict[str, Any]


class Memory(TypedDict):
    """What is remembered. ``state`` is active, superseded or retired."""

    id: str
    tier: str
    kind: str
    text: str
    importance: int
    state: str
    entities: list[dict[str, Any]]
    source_messages: list[str]
    supersedes: str | None
    superseded_by: str | None
    pinned: bool
    hidden: bool
    namespace: str
    metadata: dict[str, Any]
    tags: list[str]
    expires_at: str | None
    version: int
    created_at: str
    updated_at: str


class HistoryEvent(TypedDict):
    """What happened to a memory: it was added, corrected, superseded or retired."""

    memory: str
    event: str
    text: str
    at: str | None


class JournalEntry(TypedDict):
    """An entry of the journal. ``period`` is a day, a week, a month or a year, such as 2026-W47."""

    id: str
    granularity: str
    period: str
    title: str
    text: str
    instance: str
    version: int
    stale: bool
    created_at: str
    updated_at: str


class Found(TypedDict):
    """One result of a search. ``score`` is from 0 to 1."""

    tier: str
    memory: dict[str, Any] | None
    message: Message | None
    score: float
    signals: dict[str, float]
    matched_sentence: str
    excerpt: str


class SearchResults(TypedDict):
    method: Literal["hybrid", "vector", "text"]
    results: list[Found]


class Slot(TypedDict):
    name: str
    role: str
    position: Literal["in_prompt", "in_chat"]
    depth: int
    text: str
    tokens: int
    full_tokens: int
    trimmed: int
    budget: int


class Prompt(TypedDict):
    slots: list[Slot]
    unified: str | None
    macros: dict[str, str]
    recall: dict[str, Any] | None
    messages: list[dict[str, str]] | None
    total_tokens: int
    turn_class: str
