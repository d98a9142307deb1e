"""Rewrite what models write in place of tagged lines as such lines: tables, XML, other brackets and tags.

Without database access. What is not recognised stays as it is, and is listed as unused by the parsers.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import groupby

from apps.extraction.parsers.json_lines import line_of
from apps.extraction.parsers.labels import KNOWLEDGE_WORDS, MEMORY_WORDS, label_of

# ⟦⟧ are not among them: a prompt has them in place of the brackets of what a message says.
_OPENINGS, _CLOSINGS = "「『〖《〈｛{（(", "」』〗》〉｝}）)"
_FINAL_CHANNEL = re.compile(r".*<\|channel\|>\s*final\s*(?:<\|[^|<>\n]*\|>\s*\w*\s*)*?<\|message\|>", re.DOTALL)
_CONTROL_TOKEN = re.compile(r"<\|[^|<>\n]{1,40}\|>")
_ATTRIBUTE = r"\s+[\w-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*')"
_ELEMENT = re.compile(rf"<(?P<name>[\w-]+)(?P<attributes>(?:{_ATTRIBUTE})*)\s*>(?P<text>[^<>]*)</(?P=name)>")
_OUTER = re.compile(
    rf"<(?P<name>[\w-]+)(?P<attributes>(?:{_ATTRIBUTE})*)\s*>(?P<inner>(?:\s*<[\w-]+>[^<>]*</[\w-]+>)+)\s*</(?P=name)>"
)
_PAIR = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LEAD = r"(?P<lead>[\s>*•·‣▪◦–—+_~`-]*(?:\d{1,3}[.)．）、]\s*)?[*_`]{0,3})"
_BRACKETED = re.compile(rf"{_LEAD}[{_OPENINGS}](?P<tag>[^{_OPENINGS}{_CLOSINGS}\n]{{1,200}})[{_CLOSINGS}]")
_LABELLED = re.compile(
    rf"{_LEAD}(?P<word>[^\W\d_]{{2,30}})[*_`]{{0,3}}\s*"
    r"(?:[(（\[](?P<rest>[^()（）\[\]\n]{1,120})[)）\]])?[*_`]{0,3}\s*[:：][*_`]{0,3}\s*(?=\S)"
)
_TAG_AT_START = re.compile(rf"{_LEAD}\[")
_NEXT_TAG = re.compile(r"(?<=\S)\s+(?=\[(?P<word>[^\W\d_]{2,30})(?:[:|\]= ]))")
_MORE_OF_TAG = re.compile(
    r"\]\s*\[(?=\s*(?:[123]|low|medium|high|scene|session|permanent"
    r"|(?:importance|expiration|sources?|entit(?:y|ies)|for|triggers?)\s*[:=][^\[\]]*)\s*\])",
    re.IGNORECASE,
)
_KIND_KEYS = ("kind", "type", "category", "tag", "label")
_VALUE_KEYS = ("importance", "expiration")
_KEYS = ("source", "sources", "entity", "entities", "for", "triggers", "trigger")
_WEIGHTS = {"high": "3", "medium": "2", "low": "1"}
_HEAD = re.compile(r"\s*(?P<word>[^\W\d_]+)\s*(?:[\s,(]\s*(?P<weight>[123])\s*\)?)?\s*")


def as_lines(reply: str) -> str:
    """Return a reply with its tables, elements, labels and other brackets written as tagged lines."""
    text = _CONTROL_TOKEN.sub("", _FINAL_CHANNEL.sub("", reply, count=1)) if "<|" in reply else reply
    if "</" in text:
        text = _ELEMENT.sub(_from_element, _OUTER.sub(_from_elements, text))
    lines = text.split("\n")
    return "\n".join(line for written in _without_tables(lines) for line in _usual(written).split("\n"))


def _from_elements(match: re.Match[str]) -> str:
    inner = {child["name"].lower(): child["text"] for child in _ELEMENT.finditer(match["inner"])}
    return _element_line(match, inner) or match[0]


def _from_element(match: re.Match[str]) -> str:
    return _element_line(match, {"text": match["text"]}) or match[0]


def _element_line(match: re.Match[str], values: Mapping[str, str]) -> str:
    attributes = {name.lower(): first or second for name, first, second in _PAIR.findall(match["attributes"])}
    label = label_of(match["name"])
    fields = {**({"kind": label} if label else {}), **attributes, **values}
    line = line_of(fields) if label_of(str(fields.get("kind") or fields.get("type") or "")) else ""
    return f"\n{line}\n" if line else ""


def _without_tables(lines: list[str]) -> Iterator[str]:
    """Yield the lines, the rows of tables that have a kind as tagged lines."""
    for is_table, group in groupby(lines, lambda line: line.strip().startswith("|") and line.count("|") > 2):
        rows = list(group)
        if not is_table:
            yield from rows
            continue
        cells = [[cell.strip(" *`") for cell in row.strip().strip("|").split("|")] for row in rows]
        is_headed = len(cells) > 1 and all(re.fullmatch(r":?-+:?", cell) for cell in cells[1])
        names = [name.casefold() for name in cells[0]] if is_headed else []
        for row, written in zip(cells[2 if is_headed else 0 :], rows[2 if is_headed else 0 :], strict=True):
            yield _row_line(names, row) or written


def _row_line(names: list[str], cells: list[str]) -> str:
    fields = dict(zip(names, cells, strict=False))
    fields |= {"kind": next((label for cell in cells if (label := label_of(cell))), "")}
    fields.setdefault("text", max(cells, key=len))
    return line_of(fields) if fields["kind"] else ""


def _usual(line: str) -> str:
    """Return a line with its label or its brackets as a tag, one tag on each of several lines."""
    match = _BRACKETED.match(line)
    if match and label_of(_first_word(match["tag"])):
        line = f"{match['lead']}[{match['tag']}]{line[match.end() :]}"
    elif (match := _LABELLED.match(line)) and label_of(match["word"]) in MEMORY_WORDS and "->" not in line:
        line = (
            f"{match['lead']}[{match['word']}{':' if match['rest'] else ''}{match['rest'] or ''}] {line[match.end() :]}"
        )
    if not _TAG_AT_START.match(line):
        return line
    line = _MORE_OF_TAG.sub(":", line)
    return _NEXT_TAG.sub(lambda found: "\n" if label_of(found["word"]) else found[0], line)


def _first_word(tag: str) -> str:
    """Return the first word of a tag after "kind" and its like."""
    parts = [part for part in re.split(r"[:：|｜=＝,，、\s(（]+", tag) if part]
    return next((part for part in parts if part.casefold() not in _KIND_KEYS), "")


def usual_tag(tag: str, text: str) -> tuple[str, str]:
    """Return the tag of a line, and its text, as a prompt asks for them; unknown tags as they are.

    A tag may name keys, use other separators, other words or other widths, or have the person of its knowledge.
    """
    word = label_of(_first_word(tag))
    if word is None:
        return _with_person_first(tag, text)
    parts = [part.strip() for part in re.split(r"[:|;]", unicodedata.normalize("NFKC", tag))]
    if word in KNOWLEDGE_WORDS:
        people = [part for part in parts[1:] if part]
        return (word, f"{' from '.join(people[:2])} | {text}") if people and "|" not in text else (word, text)
    if word not in MEMORY_WORDS:
        return (":".join([word, *parts[1:]]) if label_of(parts[0]) and parts[0].casefold() != word else tag), text
    return ":".join([word, *_modifiers(parts)]), text


def _with_person_first(tag: str, text: str) -> tuple[str, str]:
    """Read ``[Mira knows]`` and ``[Mira:knows]``."""
    name, _, last = " ".join(re.split(r"[:|\s]+", tag)).rpartition(" ")
    word = label_of(last)
    return (word, f"{name} | {text}") if word in KNOWLEDGE_WORDS and name and "|" not in text else (tag, text)


def _modifiers(parts: list[str]) -> list[str]:
    """Return the parts of a memory's tag after its kind, each key with its value."""
    head = _HEAD.fullmatch(parts[0]) if label_of(_first_word(parts[0])) else None
    found = [head["weight"]] if head and head["weight"] else []
    seen_kind = label_of(_first_word(parts[0])) is not None
    rest = iter(parts[1:])
    for part in rest:
        if not seen_kind:
            seen_kind = label_of(part) is not None
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        name = key.casefold()
        if name in (*_VALUE_KEYS, *_KEYS) and not equals:
            value = next(rest, "")
        if name in _KEYS:
            found.append(f"{name}={value}")
        elif name in _VALUE_KEYS:
            found.append(_WEIGHTS.get(value.casefold(), value))
        else:
            found.append(_WEIGHTS.get(name, part))
    return found
