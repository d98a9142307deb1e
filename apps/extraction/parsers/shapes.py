"""Rewrite what models write in place of tagged lines as such lines: tables, XML, other brackets, labels, other tags.

Without database access. What is not recognised stays as it is, and is listed as unused by the parsers.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from apps.extraction.parsers.json_objects import TEXT_NAMES, line_of
from apps.extraction.parsers.labels import KNOWLEDGE_WORDS, MEMORY_WORDS, label_of, means_none
from apps.extraction.parsers.text_cleanup import LEADING_MARKS, one_line, strip_fences

# ⟦⟧ are not among them: a prompt has them in place of the brackets of what a message says.
_OPENINGS, _CLOSINGS = "[［【〔「『〖《〈｛{（(<", "]］】〕」』〗》〉｝}）)>"
_NO_BRACKETS = f"[^{re.escape(_OPENINGS + _CLOSINGS)}\n]"
_BRACKETED = re.compile(
    rf"[{re.escape(_OPENINGS)}]{{1,2}}(?P<tag>(?![\"'“]){_NO_BRACKETS}{{1,200}})[{re.escape(_CLOSINGS)}]{{1,2}}"
)
_TEXTS = re.compile(r"\[\s*\"")  # begins a list of texts
# A line that is quoted with its tag, also as an item of a list in JSON.
_QUOTED = re.compile(r"[\"'“]\s*(?P<line>\[(?P<tag>[^\[\]\n]{1,200})\][^\n]*?)\s*[\"'”],?\s*")
_KEY = r"(?:kind|type|category|importance|expiration|sources?|entit(?:y|ies)|for|triggers?)"
# "fact (3): text", "**Preference:** text", "knows (Mira): text"
_LABELLED = re.compile(
    rf"(?P<word>[^\W\d_]{{2,30}})[*_`]{{0,3}} ?(?:[(（\[](?P<rest>{_NO_BRACKETS}{{1,120}})[)）\]])?"
    r"[*_`]{0,3} ?[:：][*_`]{0,3}\s*(?=[^\s*_`])"
)
# "fact:3:source=4 text"
_UNBRACKETED = re.compile(
    rf"(?P<word>[^\W\d_]{{2,30}})[:|](?P<rest>(?:(?:[123]|scene|session|permanent|{_KEY}=[^:\s]*)(?:[:|](?=\S)|(?=[:\s])))+)"
    r":?\s+(?=\S)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(?:#{1,6} +)?[*_]{0,3}(?P<word>[^\W\d_]{2,30})[*_]{0,3} ?[:：]?[*_]{0,3}")
_ITEM = re.compile(r"\s*(?:[*•·‣▪◦+–—-]\s+|\d{1,3}[.)]\s+)(?P<text>\S.*)")
_NEXT_TAG = re.compile(r"(?<=\S)\s+(?=\[(?P<word>[^\W\d_]{2,30})[:|][^\[\]]*\])")
# "[fact] [3] [source=4]"
_MORE_OF_TAG = re.compile(
    rf"\]\s*\[(?=\s*(?:[123]|low|medium|high|permanent|session|scene|{_KEY}\s*[:=][^\[\]]*)\s*\])", re.IGNORECASE
)
_PART = re.compile(rf"[:|]|[,;\s]\s*(?={_KEY}\s*=)", re.IGNORECASE)
_PAIR = re.compile(rf"(?P<key>{_KEY})\s*[=\s]\s*(?P<value>\S.*)", re.IGNORECASE | re.DOTALL)
_WEIGHTED = re.compile(r"(?P<kind>[^\W\d_]+)\s*[\s,(]\s*(?P<weight>[123]|low|medium|high)\s*\)?", re.IGNORECASE)
_WEIGHTS = {"high": "3", "medium": "2", "low": "1"}
_KINDS = ("kind", "type", "category")
_KIND = re.compile(r"\b(?:kind|type|category)\s*[:：=＝]\s*(?P<word>\w+)", re.IGNORECASE)
_WORD_END = re.compile(r"[:：;；|｜=＝,，、\s(（]+")
MIN_TEXT_WORDS = 3  # of a text that stands in the brackets

_ATTRIBUTE = r"\s+[\w-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*')"
_ATTRIBUTES = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ELEMENT = re.compile(rf"<(?P<name>[\w-]+)(?P<attributes>(?:{_ATTRIBUTE})*)\s*>(?P<text>[^<>]*)</(?P=name)>")
_OUTER = re.compile(
    rf"<(?P<name>[\w-]+)(?P<attributes>(?:{_ATTRIBUTE})*)\s*>(?P<text>(?:\s*<[\w-]+>[^<>]*</[\w-]+>)+)\s*</(?P=name)>"
)
# Tags of HTML in a row, and the tokens around a text in some models.
_LAYOUT = re.compile(r"(?:^[ \t]+)?(?:</?(?:(?P<block>ul|ol|li|p|s|div)|br ?/?)>[ \t]*)+", re.MULTILINE)


def as_lines(reply: str) -> str:
    """Return a reply with its tables, elements, labels and other brackets written as tagged lines."""
    if means_none(reply) or _is_empty_json(reply):
        return "NONE"
    reply = _listed_lines(reply)
    text = _LAYOUT.sub(_without_layout, reply) if "<" in reply else reply
    text = _ELEMENT.sub(_from_element, _OUTER.sub(_from_element, text)) if "</" in text else text
    text = text.replace("\\[", "[").replace("\\]", "]")
    return "\n".join(_with_kinds(map(_usual_line, _without_tables(text.split("\n")))))


def _listed_lines(reply: str) -> str:
    """Return the lines of a reply that is a list of them in JSON, any other reply as it is."""
    text = strip_fences(reply).strip()
    try:
        lines = json.loads(text) if _TEXTS.match(text) else None
    except (ValueError, RecursionError):
        return reply
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return reply
    return "\n".join(" ".join(line.split()) for line in lines)


def _is_empty_json(reply: str) -> bool:
    """Return whether a reply is JSON without any value, such as ``{"facts": []}``."""
    try:
        value = json.loads(reply) if reply.lstrip()[:1] in ("[", "{") and len(reply) < 1000 else 0
    except (ValueError, RecursionError):
        return False
    return _is_empty(value)


def _is_empty(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return value is None or (isinstance(value, dict | list) and all(map(_is_empty, items)))


def _without_layout(match: re.Match[str]) -> str:
    """Return a break for tags before a bracket, and for those of blocks at the ends of a line; others as they are.

    What follows a <br> at the end of a line continues it.
    """
    start, end = match.span()
    before, after = match.string[max(start - 1, 0) : start], match.string[end : end + 1]
    if after == "[":
        return "\n"
    is_at_end = "\n" in (before or "\n", after or "\n")
    return match[0] if not is_at_end else "\n" if match["block"] else ""


def _from_element(match: re.Match[str]) -> str:
    """Return an element that has a kind as a line, or as one for each memory in it, and another one as it is.

    One that has a kind and no text is a paragraph without a tag, which no parser can use.
    """
    attributes = {name.lower(): first or second for name, first, second in _ATTRIBUTES.findall(match["attributes"])}
    children = [(child["name"].lower(), child["text"]) for child in _ELEMENT.finditer(match["text"])]
    fields: dict[str, Any] = {"kind": match["name"], **attributes, **_fields_of(children)}
    if not label_of(str(fields["kind"])):
        return match[0]
    found = [{**fields, "kind": name if label_of(name) else fields["kind"], "text": text} for name, text in children]
    if not _are_memories([name for name, _ in children]):
        found = [fields if children else {**fields, "text": match["text"]}]
    lines = [line_of(one) for one in found]
    if not all(lines):
        return f"\n\n{', '.join(f'{name} = {one_line(text)}' for name, text in children)}\n\n"
    return "".join(f"\n{line}\n" for line in lines)


def _fields_of(children: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the texts of elements by their names: a list where a name is repeated, as that of a source may be."""
    texts: dict[str, list[str]] = {}
    for name, text in children:
        texts.setdefault(name, []).append(text)
    return {name: found[0] if len(found) == 1 else found for name, found in texts.items()}


def _are_memories(names: Sequence[str]) -> bool:
    """Return whether elements with these names are memories of their own, not fields of one."""
    is_text_alone = len({*names}) == 1 and names[0] in TEXT_NAMES
    return is_text_alone or (bool(names) and all(label_of(name) in MEMORY_WORDS for name in names))


def _without_tables(lines: list[str]) -> Iterator[str]:
    """Yield the lines, the rows of tables that have a kind as tagged lines, and no heads of tables."""
    for is_table, group in groupby(lines, _is_row):
        rows = list(group)
        cells = [[cell.strip(" *`") for cell in row.strip().strip("|").split("|")] for row in rows] if is_table else []
        is_headed = len(cells) > 1 and all(re.fullmatch(r":?-+:?", cell) for cell in cells[1])
        names = [name.casefold() for name in cells[0]] if is_headed else []
        for number, row in enumerate(rows):
            if not is_headed or number > 1:
                yield (_from_row(names, cells[number]) if is_table else "") or row


def _is_row(line: str) -> bool:
    """Return whether a line is a row of a table, or begins with a kind and a bar, as in "fact | 3 | text"."""
    first, bar, _ = line.partition("|")
    return line.count("|") > 2 if bar and not first.strip() else bool(bar) and label_of(first) in MEMORY_WORDS


def _from_row(names: list[str], cells: list[str]) -> str:
    """Return a row as a line, "" if none of its cells is a kind."""
    fields: Mapping[str, str] = dict(zip(names, cells, strict=False))
    kind = next((label for cell in cells if (label := label_of(cell))), None)
    weight = next((cell for cell in cells if cell in _WEIGHTS.values()), "")
    return line_of({"text": max(cells, key=len), "importance": weight, **fields, "kind": kind}) if kind else ""


def _with_kinds(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, items of a list below the name of a kind with that kind as tag, and a blank one for the name."""
    kind: str | None = None
    for line in lines:
        item, heading = _ITEM.fullmatch(line), _HEADING.fullmatch(line.strip())
        if heading and not heading[0].isalpha():
            kind = label_of(heading["word"])
            if kind in MEMORY_WORDS:
                yield ""
                continue
        elif line.strip() and not item:
            kind = None
        is_bare = item and item["text"].lstrip("*_`")[:1] not in tuple(_OPENINGS)
        yield f"[{kind}] {item['text']}" if kind in MEMORY_WORDS and item and is_bare else line


def _usual_line(written: str) -> str:
    """Return a line with its label or its brackets as a tag in square ones."""
    match = LEADING_MARKS.match(written)
    lead = match[0] if match else ""
    line = written[len(lead) :]
    if (quoted := _QUOTED.fullmatch(line)) and _word_of(quoted["tag"]):
        line = quoted["line"]
    if (match := _BRACKETED.match(line)) and _word_of(match["tag"]):
        line = f"[{match['tag']}]{line[match.end() :]}"
    elif (match := _UNBRACKETED.match(line) or _LABELLED.match(line)) and _is_label(match) and "->" not in line:
        line = f"[{':'.join(filter(None, (match['word'], match['rest'])))}] {line[match.end() :]}"
    return f"{lead}{_MORE_OF_TAG.sub(':', line) if line.startswith('[') else line}"


def split_tags(line: str) -> list[str]:
    """Return the parts of a line that each begin with a tag, such as "[fact:3] One. [detail:1] Two."."""
    starts = [match.end() for match in _NEXT_TAG.finditer(line) if label_of(match["word"])]
    return [line[start:end].strip() for start, end in pairwise([0, *starts, len(line)])]


def _is_label(match: re.Match[str]) -> bool:
    word = label_of(match["word"])
    return word in MEMORY_WORDS or (word in KNOWLEDGE_WORDS and bool(match["rest"]))


def _word_of(tag: str) -> str | None:
    """Return the word that a tag begins with, or has after "kind", or ends with after a name, as in "Mira knows"."""
    named = _KIND.search(tag)
    words = [word for word in _WORD_END.split(tag) if word]
    first = named["word"] if named else next(iter(words), "")
    last = label_of(words[-1]) if len(words) < MIN_TEXT_WORDS + 1 and words else None
    return label_of(first) or (last if last in KNOWLEDGE_WORDS else None)


def usual_tag(tag: str, text: str) -> tuple[str, str]:
    """Return the tag and the text of a memory or of who knows what as a prompt asks for them, others as they are.

    A tag may name keys, have other separators, a weight in words or in brackets, a word of another language, the name
    of who knows something, or the whole text.
    """
    word = _word_of(tag)
    parts = [part.strip() for part in _PART.split(tag) if part.strip()]
    if word in KNOWLEDGE_WORDS:
        return word, _with_names(parts, text)
    if word not in MEMORY_WORDS:
        return (":".join([word, *parts[1:]]) if word else tag), text
    if not text and len(parts) > 1 and len(parts[-1].split()) >= MIN_TEXT_WORDS and "=" not in parts[-1]:
        text = parts.pop()
    return ":".join([word, *_modifiers(parts)]), text


def _with_names(parts: list[str], text: str) -> str:
    """Return the text about who knows what with the names that its tag has before it."""
    names = [part for part in parts if not label_of(part)]
    if len(parts) == 1:  # "Mira knows"
        names = [" ".join(word for word in parts[0].split() if not label_of(word))]
    if not text and len(names) > 1:
        text = names.pop()
    before, bar, after = text.partition("|")
    fact = after.strip() if bar and not before.strip() else text
    return f"{' from '.join(names[:2])} | {fact}" if any(names) and "|" not in fact else text


def _modifiers(parts: list[str]) -> list[str]:
    """Return the parts of a memory's tag after its kind, each key with its value."""
    found: list[str] = []
    rest = iter(parts)
    for part in rest:
        if re.fullmatch(_KEY, part, re.IGNORECASE) and not label_of(part):
            part = f"{part}={next(rest, '')}"
        if weighted := _WEIGHTED.fullmatch(part):
            part = weighted["weight"] if label_of(weighted["kind"]) else part
        pair = _PAIR.fullmatch(part)
        key, value = (pair["key"].casefold(), pair["value"].strip()) if pair else ("", part)
        if key in _KINDS or (not key and label_of(value) and not found):
            continue
        is_listed = key and key not in ("importance", "expiration")
        found.append(f"{key}={value}" if is_listed else _WEIGHTS.get(value.casefold(), value))
    return found
