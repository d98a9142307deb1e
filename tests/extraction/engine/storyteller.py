"""A model that answers every task from plain markers in the messages, so that what has to be remembered is known.

    FACT(2): Mira lives in Port Salt.        a long-term memory; also EVENT, PREFERENCE, RELATIONSHIP
    DETAIL(1): The key is made of brass.     a session memory; also SCENE, REVELATION, DEVELOPMENT
    ARC: Mira is looking for her brother.    RESOLVED: Mira has found her brother.
    STATE: Mira/character/location=harbour   as many fields as you like, each with a | before it
    KNOWS(Mira): The door is locked.         also SUSPECTS, BELIEVES, UNAWARE; HIDES(Mira from Bob): The key is hers.
    OVER: The door is locked.                what of the known is about it holds no longer
    FEELS: Mira -> Bob: warm(high), !wary
    WRONG: Mira is in Rome, but she is dead. a contradiction with the first of the settled facts

One marker a line. It says all that it finds, also what is known already, as obedient as a model can be. Of two
memories the newer replaces the older where it says "now"; what somebody "collects" it merges.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from apps.extraction.prompts.rendering import default_template
from apps.extraction.prompts.task import TASKS
from apps.extraction.prompts.transcript import CLOSING, OPENING
from tests.llm.scripted_server import Request

LONG_TERM = ("FACT", "EVENT", "PREFERENCE", "RELATIONSHIP")
SESSION = ("DETAIL", "SCENE", "REVELATION", "DEVELOPMENT")
KNOWLEDGE = ("KNOWS", "SUSPECTS", "BELIEVES", "UNAWARE")
_MARKER = re.compile(r"^(?P<name>[A-Z]+)(?:\((?P<about>[^)]*)\))?:\s*(?P<text>.+)$")
_JUMP = re.compile(r"\b(?:weeks|days) later\b|\bnext morning\b", re.IGNORECASE)
_TURN = re.compile(r"^#(\d+) ([^:]+): ?(.*)$")
_ENTRY = re.compile(r"^(\d+)\. (?:\([^)]*\) )?(.+)$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\\\{\\\{([\w-]+)\\\}\\\}")
_PAIR = re.compile(r"^(\d+)\. older: .*\n +newer: (.*)$", re.MULTILINE)
_COLLECTS = re.compile(r"(\w+) collects ([\w ,]+)\.")


@dataclass(frozen=True)
class Marker:
    """A marker in the turn ``number``; ``about`` stood in its brackets."""

    number: int
    name: str
    about: str
    text: str


Values = Mapping[str, str]


def task_of(request: Request) -> str:
    """The task that a request asks for; "" where its prompt is none of ours."""
    return _asked(request)[0]


def answer(request: Request) -> str:
    """What the model replies."""
    task, values = _asked(request)
    return "\n".join(_TASKS[task](values)) or "NONE" if task else "Ready."


def turns_in(request: Request) -> dict[int, str]:
    """The turns that a prompt shows, by their numbers."""
    return {number: text for number, _, text in _turns(_asked(request)[1])}


def value_of(request: Request, name: str) -> str:
    """What a placeholder of the request's prompt was filled with."""
    return _asked(request)[1].get(name, "")


def _asked(request: Request) -> tuple[str, Values]:
    asked = [message["content"] for message in request.messages if message["role"] == "user"]
    found = ((task, values) for prompt in reversed(asked) for task, values in [_read(prompt)] if task)
    return next(found, ("", {}))  # a reminder, and an example shown before the question, are none


def _read(prompt: str) -> tuple[str, Values]:
    """The task whose template a prompt was made from, and what its placeholders were filled with."""
    for task in TASKS:
        match = _pattern(task).fullmatch(prompt)
        if match:
            return task, match.groupdict()
    return "", {}


@cache
def _pattern(task: str) -> re.Pattern[str]:
    """The task's template as an expression with a group for each placeholder."""
    seen: set[str] = set()

    def group(match: re.Match[str]) -> str:
        again = match[1] in seen
        seen.add(match[1])
        return f"(?P={match[1]})" if again else f"(?P<{match[1]}>.*?)"

    return re.compile(_PLACEHOLDER.sub(group, re.escape(default_template(task).strip())), re.DOTALL)


def _turns(values: Values, name: str = "transcript") -> Iterator[tuple[int, str, str]]:
    """Number, speaker and text of each turn of the transcript, or of another placeholder with turns."""
    text = values.get(name, "").partition(OPENING)[2].rpartition(CLOSING)[0]
    turn: tuple[int, str, str] | None = None
    for line in text.strip("\n").split("\n"):
        match = _TURN.match(line)
        if match:
            if turn:
                yield turn
            turn = (int(match[1]), match[2], match[3])
        elif turn:
            turn = (*turn[:2], f"{turn[2]}\n{line.strip()}")
    if turn:
        yield turn


def _markers(values: Values, *names: str) -> Iterator[Marker]:
    for number, _, text in _turns(values):
        for line in text.splitlines():
            match = _MARKER.match(line)
            if match and match["name"] in names:
                yield Marker(number, match["name"], match["about"] or "", match["text"])


def _entries(text: str) -> dict[int, str]:
    return {int(number): said for number, said in _ENTRY.findall(text)}


def _memories(values: Values, names: tuple[str, ...], expiration: str) -> Iterator[str]:
    for marker in _markers(values, *names):
        tag = f"{marker.name.lower()}:{marker.about or 2}:{expiration}:source={marker.number}"
        yield f"[{tag}:entity={marker.text.split()[0]}/character] {marker.text}"


def _triggers(values: Values) -> Iterator[str]:
    for number in _entries(values["memories"]):
        yield f"{number}: keepsake, voyage"


def _relationships(values: Values) -> Iterator[str]:
    return (marker.text for marker in _markers(values, "FEELS"))


def _consolidate(values: Values) -> Iterator[str]:
    groups: dict[str, list[tuple[int, str]]] = {}
    for number, text in _entries(values["entries"]).items():
        match = _COLLECTS.fullmatch(text)
        if match:
            groups.setdefault(match[1], []).append((number, match[2]))
    for name, members in groups.items():
        if len(members) > 1:
            numbers = ",".join(str(number) for number, _ in members)
            yield f"[merge:{numbers}] {name} collects {' and '.join(thing for _, thing in members)}."


def _pairs(values: Values) -> Iterator[str]:
    """Relations of pairs: a newer statement with "now" replaces the older one."""
    for number, new in _PAIR.findall(values["pairs"]):
        relation = "UPDATE" if re.search(r"\bnow\b", new) else "INDEPENDENT"
        yield f"[pair:{number}] {relation}"


def _reading(values: Values) -> Iterator[str]:
    """Lines of every form that is asked for."""
    forms = values["forms"]
    if "[break:" in forms:
        turns = list(_turns(values))
        earlier = {number for number, _, _ in _turns(values, "earlier")}
        for number, _, text in turns:
            if _JUMP.search(text) and (earlier or number > turns[0][0]):
                yield f"[break:{number}] They talked until turn {number - 1}, and then they left."
    if "[detail:" in forms:
        yield from _memories(values, SESSION, "session")
    if ":triggers=" in forms:
        for line in _memories(values, LONG_TERM, "permanent"):
            yield line.replace("] ", ":triggers=keepsake,voyage] ", 1)
    if "[feels]" in forms:
        yield from (f"[feels] {line}" for line in _relationships(values))
    if "[arc]" in forms:
        yield from _arcs(values)
    if "[state:" in forms:
        yield from _ledger(values)
    if "[knows]" in forms:
        yield from _epistemic({**values, "known": values["knowledge"]})


def _review(values: Values) -> Iterator[str]:
    """Answers to every question of a review."""
    questions = values["questions"]
    yield from _pairs({"pairs": questions})
    if "[merge:" in questions:
        yield from _consolidate({"entries": questions.partition("[merge:")[2]})
    if "[contradiction:" in questions:
        yield from _continuity({"transcript": questions})


def _summary(values: Values) -> Iterator[str]:
    before = re.findall(r"\bturn \d+\b", values["summary"])
    told = [f"turn {number}" for number, _, _ in _turns(values)]
    yield "[SUMMARY]\n1. Scene and setting: the harbour\n2. Who is present: all"
    yield f"3. Key events: {', '.join([*before, *told])}"
    yield "4. Relationships: as before\n5. What was revealed: none\n6. Open threads: none"
    yield "7. What the user wants: more\n8. The current moment: now\n9. What comes next: the rest\n[/SUMMARY]"


def _scene_break(values: Values) -> Iterator[str]:
    """Whether the later of the two turns jumps."""
    *_, (_, _, text) = _turns(values)
    yield "YES" if _JUMP.search(text) else "NO"


def _scene_recap(values: Values) -> Iterator[str]:
    numbers = [number for number, _, _ in _turns(values)]
    yield f"They talked from turn {numbers[0]} to turn {numbers[-1]}, and then they left."


def _arcs(values: Values) -> Iterator[str]:
    for marker in _markers(values, "ARC", "RESOLVED"):
        if marker.name == "ARC":
            yield f"[arc] {marker.text}"
            continue
        words = set(marker.text.lower().split())
        alike = {number: len(words & set(text.lower().split())) for number, text in _entries(values["open"]).items()}
        if alike:
            yield f"[resolved:{max(alike, key=lambda number: alike[number])}] {marker.text}"


def _ledger(values: Values) -> Iterator[str]:
    for marker in _markers(values, "STATE"):
        name, kind, fields = marker.text.split("/", 2)
        yield f"[state:{name}:{kind}] {fields}"


def _epistemic(values: Values) -> Iterator[str]:
    for marker in _markers(values, *KNOWLEDGE, "HIDES"):
        kind = "hiding" if marker.name == "HIDES" else marker.name.lower()
        yield f"[{kind}] {marker.about} | {marker.text}"
    for marker in _markers(values, "OVER"):
        numbers = [str(number) for number, text in _entries(values["known"]).items() if text == marker.text]
        yield f"[retire] {', '.join(numbers)}" if numbers else "NONE"


def _profiles(values: Values) -> Iterator[str]:
    known = len(_entries(values["memories"]) or values["memories"].splitlines())
    yield f"<character_state>\nGoals: to go on\nPosture: calm, knows {known} things\n</character_state>"
    yield "<world_state>\nLocation: the harbour\n</world_state>"
    yield f"<relationship_matrix>\n{values['subject']} -> Alice: friendly\n</relationship_matrix>"


def _canon(values: Values) -> Iterator[str]:
    yield f"Who: {values['subject']} is somebody.\n\nWhat happened: {values['arcs']}\n\nWhere things stand: well."


def _continuity(values: Values) -> Iterator[str]:
    return (f"[contradiction:1] {marker.text}" for marker in _markers(values, "WRONG"))


_TASKS: Mapping[str, Callable[[Values], Iterator[str]]] = {
    "long_term": lambda values: _memories(values, LONG_TERM, "permanent"),
    "session": lambda values: _memories(values, SESSION, "session"),
    "plain": lambda values: iter(()),
    "plainest": lambda values: iter(()),
    "triggers": _triggers,
    "relationships": _relationships,
    "consolidate": _consolidate,
    "pairs": _pairs,
    "reading": _reading,
    "review": _review,
    "summary": _summary,
    "scene_break": _scene_break,
    "scene_recap": _scene_recap,
    "arcs": _arcs,
    "arc_summary": lambda values: iter([f"It came to its end: {values['arc']}"]),
    "ledger": _ledger,
    "epistemic": _epistemic,
    "profiles": _profiles,
    "canon": _canon,
    "continuity": _continuity,
    "repair": lambda values: iter(["Let it turn out that it was a mistake."]),
}
