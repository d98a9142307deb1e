"""Parse replies of the suitability test into statements, with the parsers of the pipeline. Without database access."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from apps.extraction.memories.lines import KINDS, parse_memories
from apps.extraction.memories.plain_notes import Said, parse_plain
from apps.extraction.memories.relationships import parse_relationships
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.prompts.material import PromptContext
from apps.extraction.reading.reply_parts import divide_reply
from apps.extraction.suitability.scenarios import ReplyStatement
from apps.extraction.tiers.arcs import RESOLVED, ArcLine, parse_arcs
from apps.extraction.tiers.continuity import parse_contradictions
from apps.extraction.tiers.epistemic import KINDS as KNOWLEDGE_KINDS
from apps.extraction.tiers.epistemic import RETIRE, parse_knowledge
from apps.extraction.tiers.ledger import parse_states
from apps.extraction.tiers.profiles import SECTIONS as PROFILE_SECTIONS
from apps.extraction.tiers.profiles import parse_profiles
from apps.extraction.tiers.summary import SECTIONS as SUMMARY_SECTIONS
from apps.extraction.tiers.summary import parse_summary

MAX_PROSE = 6000  # characters
MAX_RECAP = 900  # characters; three sentences have about 600 at most
_UNKNOWN_VALUE = re.compile(
    r"=\s*(?:unknown|not (?:mentioned|specified)|none mentioned|unspecified|n/?a)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class ParsedReply:
    """Statements of a reply, and its unused lines.

    ``format_score``, from 0 to 1, is the share of the reply in the requested format. ``count`` is its number of
    entries. ``remarks`` are hints for the user.
    """

    statements: list[ReplyStatement] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    format_score: float = 0.0
    count: int = 0
    remarks: list[str] = field(default_factory=list)


def parse_reply(task: str, reply: str, material: PromptContext) -> ParsedReply:
    """Parse the reply to a task. Raise KeyError for an unknown task. A malformed reply raises nothing."""
    return _CONVERTERS[task](reply, material)


def _build_reply(
    statements: list[ReplyStatement], count: int, unused: Sequence[str], remarks: Sequence[str] = ()
) -> ParsedReply:
    total = count + len(unused)
    return ParsedReply(statements, list(unused), count / total if total else 0.0, count, list(remarks))


def _make_memory_converter(kinds: tuple[str, ...]) -> Callable[[str, PromptContext], ParsedReply]:
    def convert(reply: str, material: PromptContext) -> ParsedReply:
        parsed = parse_memories(reply, kinds)
        numbers = {turn["number"] for turn in material["turns"]}
        valid = [item for item in parsed.items if set(item.sources) <= numbers]
        remarks = []
        if len(valid) < len(parsed.items):
            remarks.append("It cites messages that don't exist.")
        if valid and 2 * sum(not item.sources for item in valid) > len(valid):
            remarks.append("It seldom cites the messages of a memory; Loci has to guess them.")
        if len(valid) > 2 * material["per_kind"] * len(kinds):
            remarks.append("It writes far more than requested.")
        unused = [*parsed.unused, *(item.text for item in parsed.items if item not in valid)]
        return _build_reply([ReplyStatement(item.text, item.kind) for item in valid], len(valid), unused, remarks)

    return convert


def _convert_arcs(reply: str, material: PromptContext) -> ParsedReply:
    parsed = parse_arcs(reply)
    known = {arc["number"]: arc["text"] for arc in material["open"]}
    return _build_reply([_convert_arc(item, known) for item in parsed.items], len(parsed.items), parsed.unused)


def _convert_arc(item: ArcLine, known: Mapping[int, str]) -> ReplyStatement:
    """Return an arc line as a statement. The text of a resolution starts with the text of the arc that it resolves."""
    resolved = known.get(item.number or 0, "") if item.kind == RESOLVED else ""
    return ReplyStatement(f"{resolved} {item.text}", item.kind)


def _convert_epistemic(reply: str, material: PromptContext) -> ParsedReply:
    parsed = parse_knowledge(reply)
    statements = [
        ReplyStatement(f"{item.text} from {item.target}" if item.target else item.text, item.kind, item.subject)
        for item in parsed.items
    ]
    statements += [ReplyStatement(str(number), RETIRE) for number in parsed.retired]
    used = {line.kind for line in statements}
    missing = [f"[{kind}]" for kind in KNOWLEDGE_KINDS if kind not in used]
    remarks = [f"It never used {', '.join(missing)}."] if statements and missing else []
    return _build_reply(statements, len(statements), parsed.unused, remarks)


def _convert_ledger(reply: str, material: PromptContext) -> ParsedReply:
    parsed = parse_states(reply)
    statements = [
        ReplyStatement(f"{item.name} {item.type} {name} {value}", name, item.name)
        for item in parsed.items
        for name, value in [*item.fields.items(), *((cleared, "cleared") for cleared in item.cleared)]
    ]
    unknown_values = _UNKNOWN_VALUE.findall(reply)
    remarks = ["It writes “unknown” instead of leaving a field out."] if len(unknown_values) > 1 else []
    return _build_reply(statements, len(statements), [*parsed.unused, *unknown_values], remarks)


def _convert_relationships(reply: str, material: PromptContext) -> ParsedReply:
    parsed = parse_relationships(reply)
    names = {name.casefold() for name in material["names"]}
    valid = [item for item in parsed.items if {item.subject.casefold(), item.target.casefold()} <= names]
    statements = [
        ReplyStatement(word, kind, f"{item.subject} {item.target}")
        for item in valid
        for kind, words in (("now", [added.word for added in item.added]), ("no longer", item.removed))
        for word in words
    ]
    unknown = [f"{item.subject} -> {item.target}" for item in parsed.items if item not in valid]
    return _build_reply(statements, len(valid), [*parsed.unused, *unknown])


def _convert_summary(reply: str, material: PromptContext) -> ParsedReply:
    sections = parse_summary(reply).sections
    statements = [ReplyStatement(text, str(number)) for number, text in sections.items()]
    missing = [f"{number}. {title}" for number, title in SUMMARY_SECTIONS.items() if number not in sections]
    remarks = [f"{len(missing)} of the nine sections are missing."] if statements and missing else []
    return ParsedReply(
        statements, missing if statements else [], len(sections) / len(SUMMARY_SECTIONS), len(sections), remarks
    )


def _convert_profiles(reply: str, material: PromptContext) -> ParsedReply:
    profile = parse_profiles(reply)
    statements = [
        ReplyStatement(text, name) for name in PROFILE_SECTIONS if profile and (text := getattr(profile, name))
    ]
    return ParsedReply(statements, [], len(statements) / len(PROFILE_SECTIONS), len(statements))


def _convert_canon(reply: str, material: PromptContext) -> ParsedReply:
    text = parse_free_text(reply, MAX_PROSE)
    plain = re.sub(r"[*_#]", "", text.casefold())
    labels = [label for label in ("who:", "what happened:", "where things stand:") if label in plain]
    return _build_text_reply(text, (1 + len(labels)) / 4)


def _convert_recap(reply: str, material: PromptContext) -> ParsedReply:
    text = parse_free_text(reply, MAX_PROSE)
    if len(text) <= MAX_RECAP:
        return _build_text_reply(text, 1.0)
    return _build_text_reply(text, 0.5, "It was asked for two or three sentences and wrote many more.")


def _build_text_reply(text: str, format_score: float, *remarks: str) -> ParsedReply:
    return ParsedReply([ReplyStatement(text)], [], format_score, 1, list(remarks)) if text else ParsedReply()


def _convert_continuity(reply: str, material: PromptContext) -> ParsedReply:
    parsed = parse_contradictions(reply)
    statements = [ReplyStatement(item.text, "" if item.number is None else str(item.number)) for item in parsed.items]
    return _build_reply(statements, len(statements), parsed.unused)


def _convert_reading(reply: str, material: PromptContext) -> ParsedReply:
    divided = divide_reply(reply)
    names = sorted({entity["name"] for entity in material["entities"]} | set(material["participants"]))
    texts = {task: text for task, text in divided.texts.items() if task in _CONVERTERS}  # scenes aren't judged
    parts = [_CONVERTERS[task](text, {**material, "names": names}) for task, text in texts.items()]
    unused = [*divided.unused, *(line for part in parts for line in part.unused)]
    return _build_reply(
        [statement for part in parts for statement in part.statements], sum(part.count for part in parts), unused
    )


def _convert_plain(reply: str, material: PromptContext) -> ParsedReply:
    parsed = parse_plain(reply, Said([(turn["speaker"], turn["text"]) for turn in material["turns"]]))
    return _build_reply([ReplyStatement(text) for text in parsed.items], len(parsed.items), parsed.unused)


_CONVERTERS: Mapping[str, Callable[[str, PromptContext], ParsedReply]] = {
    "session": _make_memory_converter(KINDS["session"]),
    "long_term": _make_memory_converter(KINDS["long_term"]),
    "arcs": _convert_arcs,
    "epistemic": _convert_epistemic,
    "ledger": _convert_ledger,
    "relationships": _convert_relationships,
    "summary": _convert_summary,
    "profiles": _convert_profiles,
    "canon": _convert_canon,
    "scene_recap": _convert_recap,
    "continuity": _convert_continuity,
    "reading": _convert_reading,
    "plain": _convert_plain,
}
