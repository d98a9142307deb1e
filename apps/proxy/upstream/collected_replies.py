"""Read the reply of the model from the bytes that were passed on. Nothing here reads or writes the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.llm.replies.documents import NoDocument, documents
from apps.llm.replies.thinking import split_thinking
from apps.llm.replies.values import first_text, storable_text, token_count

END = b"data: [DONE]"  # of events


@dataclass(frozen=True)
class CollectedReply:
    """The first choice of a reply.

    ``is_partial``: it ended before the model had finished. Token counts are None if unknown.
    """

    text: str
    tools: tuple[dict[str, Any], ...] = ()
    is_partial: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def collected_reply(body: bytes) -> CollectedReply:
    """Return the reply in a body, which is one JSON document or server-sent events, perhaps cut off."""
    texts: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    is_finished = False
    counts: dict[str, int | None] = {"prompt_tokens": None, "completion_tokens": None}
    try:
        for document in documents([body]):
            usage = document.get("usage")
            if isinstance(usage, dict):
                counts = {name: token_count(usage, name) for name in counts}
            for choice in _first_choices(document):
                part = choice.get("delta") or choice.get("message")
                texts.append(first_text(part, "content"))
                if isinstance(part, dict):
                    _add_calls(calls, part.get("tool_calls"))
                    _add_calls(calls, [{"function": part.get("function_call")}])  # the older form
                is_finished = is_finished or bool(choice.get("finish_reason"))
        is_finished = is_finished or END in body
    except NoDocument:
        pass
    text = split_thinking(storable_text("".join(texts)))[0]
    return CollectedReply(text, tuple(calls.values()), not is_finished, **counts)


def _first_choices(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = document.get("choices")
    choices = choices if isinstance(choices, list) else []
    return [choice for choice in choices if isinstance(choice, dict) and choice.get("index", 0) == 0]


def _add_calls(calls: dict[int, dict[str, Any]], parts: Any) -> None:
    """Add parts of tool calls: the name comes first, the arguments in pieces."""
    for position, part in enumerate(parts if isinstance(parts, list) else []):
        function = part.get("function") if isinstance(part, dict) else None
        if not isinstance(function, dict):
            continue
        index = part.get("index")
        call = calls.setdefault(index if isinstance(index, int) else position, {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or storable_text(first_text(part, "id"))
        call["name"] = call["name"] or storable_text(first_text(function, "name"))
        call["arguments"] += storable_text(first_text(function, "arguments"))
