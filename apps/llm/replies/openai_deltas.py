"""Read the documents of replies in the form of OpenAI's API, of which most servers deviate in some way."""

from collections.abc import Mapping
from typing import Any

from apps.llm.replies.documents import error_message
from apps.llm.replies.reply import Delta, failure_in_document
from apps.llm.values import first_text, token_count

# What servers say instead of "error" when they give up: vLLM, SGLang, DeepSeek, Zhipu.
FAILED = ("error", "abort", "aborted", "cancelled", "insufficient_system_resource", "network_error")
THOUGHT_KINDS = ("thinking", "reasoning", "redacted_thinking")  # types of parts


def delta_of(document: dict[str, Any]) -> Delta:
    """Return the part of the first choice in one document of a streamed or whole reply.

    Raise GenerationFailed for an error.
    """
    if document.get("done") is True:
        return Delta(finished=True)
    if error := error_message(document):
        raise failure_in_document(document, error)
    choice = _first_choice(document)
    finish_reason = _finish_reason(choice)
    if finish_reason in FAILED:
        raise failure_in_document(document, finish_reason)
    part, message = choice.get("delta"), choice.get("message")
    text, thoughts = _content(part)
    # Perplexity sends the message as far as it has come beside each part, and an empty part beside a whole message.
    is_whole = isinstance(message, dict) and not text
    has_parts = isinstance(part, dict) or not is_whole
    if is_whole:
        part = message
        text, thoughts = _content(part)
    usage = document.get("usage")
    return Delta(
        text=text or first_text(choice, "text") or first_text(part, "refusal"),
        reasoning=thoughts or first_text(part, "reasoning_content", "reasoning", "thinking"),
        tools=_tools(part),
        finished=not has_parts or bool(finish_reason),
        is_whole=is_whole,
        prompt_tokens=token_count(usage, "prompt_tokens"),
        completion_tokens=token_count(usage, "completion_tokens"),
        cut_off=finish_reason == "length",
        filtered=finish_reason.startswith("content_filter"),  # Gemini adds its reason: "content_filter: OTHER"
    )


def _first_choice(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the choice with index 0, which some servers leave out."""
    choices = document.get("choices")
    listed = choices if isinstance(choices, list) else []
    return next((choice for choice in listed if isinstance(choice, dict) and not choice.get("index")), {})


def _finish_reason(choice: Mapping[str, Any]) -> str:
    """Return why the reply ended, or nothing: DashScope writes "null" as long as it goes on."""
    reason = first_text(choice, "finish_reason")
    return "" if reason == "null" else reason


def _content(part: Any) -> tuple[str, str]:
    """Return the text of a message or delta, and what its parts have of the model's reasoning."""
    content = part.get("content") if isinstance(part, dict) else None
    if isinstance(content, str):
        return content, ""
    items = content if isinstance(content, list) else [content]
    spoken = [_text_of(item) for item in items if not _is_thought(item)]
    thoughts = [_text_of(item) for item in items if _is_thought(item)]
    return "".join(spoken), "".join(thoughts)


def _is_thought(item: Any) -> bool:
    return isinstance(item, dict) and (item.get("type") in THOUGHT_KINDS or item.get("thought") is True)


def _text_of(item: Any) -> str:
    """Return the text of a part of content: a string, or an object with it. Mistral's thoughts have parts again."""
    if isinstance(item, str):
        return item
    inner = item.get("thinking") if isinstance(item, dict) else None
    if isinstance(inner, list):
        return "".join(first_text(one, "text") for one in inner)
    return first_text(item, "text", "thinking", "reasoning", "refusal")


def _tools(part: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the parts of tool calls in a message or delta, of which older servers send one as ``function_call``."""
    if not isinstance(part, dict):
        return ()
    calls = part.get("tool_calls")
    older = part.get("function_call")
    listed = [*(calls if isinstance(calls, list) else []), *([{"function": older}] if older else [])]
    return tuple(call for call in listed if isinstance(call, dict))
