"""Mark what reads like an instruction to a model: commands, out-of-character notes, tags. Without database access.

Messages are data: a message must not be able to dictate a memory. What is marked is never dropped. It is remembered as
something that its author said, in quotation marks, and changes no other layer. The rules know English alone and are
narrow on purpose, since people in stories remember, ignore and record things too; nothing depends on them for safety.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

_TAG_KINDS = "fact relationship preference event scene revelation development detail arc resolved contradiction"
_TAG = re.compile(
    # [fact], [fact:3:permanent], [scene:session]; not the stage direction [Scene: a tavern]
    rf"[\[［【]\s*(?:(?:{'|'.join(_TAG_KINDS.split())})s?\s*(?=[\]］】]|[:：]\s*(?:\d|scene\b|session\b|permanent\b|\w+\s*=))"
    r"|state\s*[:：]|(?:merge|retire)\s*(?=[:：\]］】]\s*\d)|/?\s*summary\s*(?=[\]］】])"
    # [knows] Mira | the door is locked
    r"|(?:knows|suspects|believes|unaware|hiding)\s*(?=[\]］】][^|\n]{1,200}\|))"
    r"[^\[\]\n］】]{0,300}[\]］】]?"
    r"|</?\s*(?:character_state|world_state|relationship_matrix|transcript)\s*>",
    re.IGNORECASE,
)
# A line that imitates another role, or a token of a chat template.
_ROLE_LINE = re.compile(
    r"^[ \t>*_#\"“\[(]{0,6}"
    r"(?:(?:system|assistant|developer)(?: (?:prompt|message|note|instructions?|override))?[*_]*\s*[:：]"
    r"|#{2,}\s*(?:system|instructions?|assistant)\b)|<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
_NOTE_LABEL = (
    r"(?:ooc|(?:system|author(?:['’]?s)?|writer(?:['’]?s)?|gm|dm|narrator) note|"
    r"note to (?:the )?(?:ai|bot|model|writer|self)"
    r"|a/n|system|assistant|ai|instructions?)\b"
)
_COMMAND = (
    r"(?:(?:new|updated|additional|important) instructions?|from now on|make sure|continue the|"
    r"(?:do not|don['’]t|always|never|please) "
    r"(?:write|speak|reply|respond|describe|mention|forget that|remember that)|write |generate |remember that|"
    r"(?:you|\{\{char\}\}) (?:must|should|will now)|ignore |disregard )"
)
_NOTE = re.compile(
    rf"\(\([^()]{{0,2000}}\)\)|\(\s*(?:{_NOTE_LABEL})[^()]{{0,2000}}\)?"
    rf"|\[\s*(?:{_NOTE_LABEL}|{_COMMAND})[^\[\]]{{0,2000}}\]?",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"^\W*(?:\(\(|ooc\b)", re.IGNORECASE)
_OOC = re.compile(r"^\W{0,4}ooc\b", re.IGNORECASE)

_QUANTIFIERS = (
    r"(?:(?:all|any|everything|every|of|the|your|these|those|my|our|that|and|or|what|was|is|written|said|comes?)\s+)"
    r"{0,5}"
)
_PROMPT = r"(?:instructions?|prompts?|messages?|texts?|contexts?|directives?|guidelines|transcripts?|conversations?)"
_OVERRIDE = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass|skip)\s+{_QUANTIFIERS}"
    rf"(?:(?:previous|prior|above|earlier|preceding|foregoing|system|initial|original)\s+{_PROMPT}\b"
    rf"|{_PROMPT}\s+(?:above|before|so far)\b|(?:above|preceding|foregoing)(?=\s*(?:$|[,.:;!\n–—-]|and\b|then\b)))",
    re.IGNORECASE,
)
# The beginning of a command: matches neither "I add" nor "he recorded".
_BEFORE_VERB = r"(?:^\W*|[,;:.!?–—]\s*|\b(?:please|now|and|then|must|should|shall|to|always|you|also|just|instead)\s+)"
_MEMORY_NOUN = (
    r"(?:memory|memories|memory (?:book|bank|store|log|list)|knowledge base|system prompt|fact list|list of facts)\b"
)
_STORE_IN = re.compile(
    rf"{_BEFORE_VERB}(?:add|append|insert|store|save|record|log|write|put|enter|include|note|keep)\b[^.!?\n]{{0,80}}?"
    rf"\b(?:to|in|into)\s+(?:your|the|its|this|long[- ]term|permanent|session)\s+(?:\w+[- ]){{0,2}}?{_MEMORY_NOUN}",
    re.IGNORECASE,
)
_STORE_AS = re.compile(
    rf"{_BEFORE_VERB}(?:add|store|save|record|log|remember|extract|mark|treat|count|memori[sz]e|output|write)\b[^.!?\n]{{0,80}}?"
    r"\bas\s+(?:an?\s+)?(?:(?:new|true|important|permanent|established|confirmed|long[- ]term|core)\s+){0,3}"
    r"(?:facts?|memor(?:y|ies))\b",
    re.IGNORECASE,
)
_OUTPUT = re.compile(
    rf"{_BEFORE_VERB}(?:(?:output|emit)\s+"
    r"(?:the following|this|these|exactly|only|just|a line|lines?|none|nothing|new|[\"“'\[:])"
    r"|(?:print|output|emit|write|return|reply|respond|answer|extract)\b[^.!?\n]{0,40}?"
    r"\b(?:json|facts?:|memory lines?|memories?:|tagged lines?|the tag|system prompt|only with none))",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(
    r"(?:^\W*|\b(?:the|this|dear|hey|any|an)\s+|[.,;:!]\s*)"
    r"(?:ai|assistant|language model|ai model|llm|chatbot|extractor|"
    r"summari[sz]er|memory (?:engine|system|extractor|assistant|model))\b\s*[,:]?\s*(?:you\s+)?"
    r"(?:must|should|shall|has to|have to|is to|needs? to|please)?\s*(?:always |never |not |now |please |only )*"
    r"(?:remember|forget|ignore|disregard|output|store|save|record|add|write|note|treat|assume|include|extract|"
    r"memori[sz]e)\b",
    re.IGNORECASE,
)
_MODEL_INTERNALS = re.compile(
    r"^\W*(?:new|updated|additional|important) instructions?\s*[:：]"
    r"|\b(?:end|beginning) of (?:the )?(?:transcript|system prompt|chat log)\b"
    r"|\byour (?:system prompt|memory (?:bank|store)|(?:real|actual) (?:task|instructions?))\b"
    r"|\byou are (?:now )?(?:an? |the )?(?:language model|llm|(?:memory|fact) extractor)\b"
    r"|\binstructions? (?:for|to) the (?:ai|model|assistant|extractor)\b",
    re.IGNORECASE,
)
_RULES = (_TAG, _ROLE_LINE, _NOTE, _OOC, _OVERRIDE, _STORE_IN, _STORE_AS, _OUTPUT, _ADDRESSED, _MODEL_INTERNALS)
# Each rule matches only texts with one of these hints, a cheap check that most sentences fail.
_HINT = re.compile(
    r"[\[［【<#:：]|\(\(|\booc\b|ignor|disregard|forget|overrid|bypass|skip|memor|facts?\b|output|emit|print|json|prompt|"
    r"transcript|instruction|assistant|language model|llm|chatbot|extract|summari|chat log|\bai\b|knowledge base|"
    r"\(\s*(?:a/n|system|author|writer|gm|dm|narrator|note)",
    re.IGNORECASE,
)
_MAX_CHECKED = 4000  # characters checked in a sentence; longer ones are not stored as memories
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")


def is_instruction(sentence: str) -> bool:
    """Return whether a sentence is addressed to a model, by a tag or by a command."""
    text = sentence[:_MAX_CHECKED]
    return bool(_HINT.search(text)) and any(rule.search(text) for rule in _RULES)


def is_aside(piece: str) -> bool:
    """Return whether a piece is an out-of-character note, which the writers of a story say to each other."""
    return bool(_ASIDE.match(piece))


def without_instructions(message: str) -> str:
    """Remove out-of-character notes, lines that imitate another role, and texts after tags from a message.

    Commands among its sentences stay; check each sentence with ``is_instruction``.
    """
    return "\n".join(_strip_tagged(line) for line in _NOTE.sub(" ", message).splitlines())


def instructions_in(message: str) -> list[str]:
    """Return the pieces that ``without_instructions`` removes from a message."""
    notes = [match[0] for match in _NOTE.finditer(message)]
    lines = _NOTE.sub(" ", message).splitlines()
    pieces = [*notes, *(line[len(_strip_tagged(line)) :] for line in lines)]
    return [piece for piece in map(str.strip, pieces) if piece]


def _strip_tagged(line: str) -> str:
    """Return the part of a line before a tag, or "" for a line that imitates another role."""
    if _ROLE_LINE.search(line) or _OOC.match(line):
        return ""
    tag = _TAG.search(line)
    return line[: tag.start()] if tag else line


def dictated_texts(turn_texts: Iterable[str]) -> frozenset[str]:
    """Return the normalized texts that messages dictate: those after tags and after the colon of a command.

    Each text is returned both whole and split into sentences. A candidate with such a text only repeats the prompt.
    """
    texts = {normalize_text(piece) for text in turn_texts for piece in _dictated_pieces(text)}
    return frozenset(texts - {""})


def normalize_text(text: str) -> str:
    """Return the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _dictated_pieces(text: str) -> Iterator[str]:
    follows_command = False  # the line before was a command that ended with a colon
    for line in filter(str.strip, text.splitlines()):
        parts = _TAG.split(line)
        if follows_command and len(parts) == 1:
            yield from _whole_and_sentences(line)
        for part in parts[1:]:
            yield from _whole_and_sentences(part)
        for sentence in _SENTENCE_END.split(parts[0]):
            command, colon, rest = sentence.rpartition(":")
            if colon and is_instruction(command + colon):
                yield from _whole_and_sentences(rest)
        follows_command = line.rstrip().endswith(":") and is_instruction(line)


def _whole_and_sentences(text: str) -> Iterator[str]:
    yield text
    yield from _SENTENCE_END.split(text)
