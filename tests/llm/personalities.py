"""Ways in which model servers misbehave, each as a wrapper around the answers of an obedient model.

    server = ScriptedServer(PERSONALITIES["rambler"](storyteller.answer))

Each misbehaves again and again, but lets a persistent caller through: what is asked often enough is answered.
"""

import itertools
import json
import re
import threading
from collections import Counter
from collections.abc import Callable

from tests.llm.scripted_server import Reply, Request

Answer = Callable[[Request], "str | Reply"]
Personality = Callable[[Answer], Answer]
_LINE = re.compile(r"^\[([^\]]+)\] (.*)$")


def _text(answer: Answer, request: Request) -> str:
    said = answer(request)
    return said.text if isinstance(said, Reply) else said


def _times_asked() -> Callable[[Request], int]:
    """Return a function that counts how often a prompt was sent, whatever its limits."""
    counts: Counter[str] = Counter()
    lock = threading.Lock()

    def count(request: Request) -> int:
        with lock:
            counts[request.prompt] += 1
            return counts[request.prompt]

    return count


def reasoner(answer: Answer) -> Answer:
    """Think first, and count the thoughts towards the limit: a small one leaves no room for the reply."""

    def reply(request: Request) -> Reply:
        thoughts = "[fact:3:source=0] The moon is cheese? No. " * 20
        if request.body["max_tokens"] < 2000:
            return Reply("", reasoning=thoughts, finish_reason="length")
        if request.number % 2:
            return Reply(f"<think>{thoughts}</think>\n{_text(answer, request)}")
        return Reply(_text(answer, request), reasoning=thoughts)

    return reply


def cutter(answer: Answer) -> Answer:
    """Cut off the first reply to every prompt in its middle."""
    times = _times_asked()

    def reply(request: Request) -> Reply:
        text = _text(answer, request)
        return Reply(text[: len(text) // 2], finish_reason="length") if times(request) == 1 else Reply(text)

    return reply


def refuser(answer: Answer) -> Answer:
    """Refuse every third prompt twice: with an error, in prose, or by a filter, in turn."""
    times = _times_asked()
    seen: list[str] = []
    ways = (
        Reply("This content is not allowed.", status=400),
        Reply("I'm sorry, but I can't help with that."),
        Reply("", finish_reason="content_filter"),
    )

    def reply(request: Request) -> Reply:
        first = request.messages[1]["content"] if len(request.messages) > 1 else request.prompt
        if first not in seen:
            seen.append(first)
        number = seen.index(first)
        if number % 3 == 0 and times(request) <= 2:
            return ways[number // 3 % len(ways)]
        return Reply(_text(answer, request))

    return reply


def rate_limiter(answer: Answer) -> Answer:
    """Allow every fourth call only; ask for a wait of no time, or of an hour."""

    calls = itertools.count(1)

    def reply(request: Request) -> Reply:
        number = next(calls) % 4
        if number:
            return Reply("Slow down.", status=429, headers={"Retry-After": "3600" if number == 1 else "0"})
        return Reply(_text(answer, request))

    return reply


def json_lover(answer: Answer) -> Answer:
    """Write objects in place of tagged lines."""

    def reply(request: Request) -> str:
        lines = _text(answer, request).splitlines()
        objects = [item for line in lines if (item := _as_object(line))]
        others = [line for line in lines if not _as_object(line)]
        if not objects or others:
            return "\n".join(lines)
        return f"```json\n{json.dumps({'notes': objects}, indent=1)}\n```"

    return reply


def _as_object(line: str) -> dict[str, object] | None:
    """Return a line with a memory as an object, or None for any other."""
    match = _LINE.match(line)
    kind, *parts = match[1].split(":") if match else [""]
    if match is None or kind not in _MEMORY_KINDS:
        return None
    item: dict[str, object] = {"type": kind, "text": match[2]}
    for part in parts:
        name, _, value = part.partition("=")
        if name == "source":
            item["source"] = [int(number) for number in value.split(",")]
        elif name == "entity":
            item["entities"] = [dict(zip(("name", "type"), one.split("/"), strict=True)) for one in value.split(",")]
        elif name in ("triggers", "for"):
            item[name] = value.split(",")
        elif name.isdigit():
            item["importance"] = int(name)
        else:
            item["expiration"] = name
    return item


_MEMORY_KINDS = (
    "fact", "event", "preference", "relationship", "scene", "revelation", "development", "detail"
)  # fmt: skip


def rambler(answer: Answer) -> Answer:
    """Say it with headings, bullets and bold, between two friendly remarks, and every memory twice."""

    def reply(request: Request) -> str:
        lines = _text(answer, request).splitlines()
        if not all(line.startswith("[") for line in lines):
            return "\n".join(lines)
        twice = [one for line in lines for one in ([line, line] if line.split(":")[0][1:] in _MEMORY_KINDS else [line])]
        marked = "\n".join(f"- **{line.partition('] ')[0]}]** {line.partition('] ')[2]}" for line in twice)
        return f"Sure! Here is what I noted:\n\n## Notes\n{marked}\n\nLet me know if you need anything else!"

    return reply


def foreigner(answer: Answer) -> Answer:
    """Write full-width brackets, and remarks in another language."""

    def reply(request: Request) -> str:
        lines = _text(answer, request).splitlines()
        if not all(line.startswith("[") for line in lines):
            return "\n".join(lines)
        wide = "\n".join("【" + line[1:].replace("]", "】", 1) for line in lines)
        return f"Gerne, hier sind die Notizen:\n\n{wide}\n\nSoll ich noch etwas ergänzen?"

    return reply


def breaker(answer: Answer) -> Answer:
    """Break two of three streams in their middle."""

    calls = itertools.count(1)

    def reply(request: Request) -> Reply:
        return Reply(_text(answer, request), stream=True, break_after=3 if next(calls) % 3 else None)

    return reply


def sleeper(answer: Answer) -> Answer:
    """Take its time."""
    return lambda request: Reply(_text(answer, request), delay=0.05)


def blank(answer: Answer) -> Answer:
    """Reply with nothing to the first request of every prompt."""
    times = _times_asked()
    return lambda request: Reply("" if times(request) == 1 else _text(answer, request))


PERSONALITIES: dict[str, Personality] = {
    "reasoner": reasoner,
    "cutter": cutter,
    "refuser": refuser,
    "rate limiter": rate_limiter,
    "JSON lover": json_lover,
    "rambler": rambler,
    "foreigner": foreigner,
    "breaker": breaker,
    "sleeper": sleeper,
    "blank": blank,
}
