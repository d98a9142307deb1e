"""Split a response of any format into JSON documents, and read error messages from it."""

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import chain
from typing import Any

from django.utils.translation import gettext

DONE = {"done": True}  # stands for OpenAI's "[DONE]" line
FIELDS_WITH_DATA = ("data", "error")  # of an event stream; the second is llama.cpp's
FIELDS = ("data:", "error:", "event:", "id:", "retry:", ":")
LINE_END = re.compile(rb"\r\n|\r|\n")
HTML_START = re.compile(r"\s*(<!doctype html|<html|<head|<body|<h1)|.{0,500}<title", re.IGNORECASE | re.DOTALL)
TITLE = re.compile(r"<(title|h1)[^>]*>(.*?)</\1", re.IGNORECASE | re.DOTALL)
MAX_PAGE = 5000  # characters of a web page in which its title stands; a search for an end takes the square of them
MAX_EXCERPT = 200  # characters of a server's text that our messages quote


class NoDocument(ValueError):
    """The response contains no JSON document; the message is an excerpt. ``is_web_page``: it is HTML."""

    def __init__(self, text: str) -> None:
        self.is_web_page = bool(HTML_START.match(text))
        super().__init__(excerpt_of(text))


def documents(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects of an event stream, of JSON lines or of one JSON body.

    The content decides which of them it is, since some servers ignore whether a stream was requested. An object is
    yielded as soon as it is whole, also if no empty line ends its event. Invalid UTF-8 is replaced. Raise NoDocument if
    there is no object.
    """
    event = _Event()
    other_lines: list[str] = []
    has_document = False
    for line in chain(split_lines(chunks), [""]):
        if event.takes(line):
            found, unread = event.read(line)
            other_lines += unread
        else:
            document = None if other_lines else _object(line)
            found = [] if document is None else [document]
            other_lines += [] if found else [line]
        for document in found:
            has_document = True
            yield document
    if not has_document:
        yield from parse_body("\n".join(other_lines))


def split_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield each line as soon as it is complete. It ends with LF, CR or both."""
    partial: list[bytes] = []
    after_cr = False
    for chunk in filter(None, chunks):
        *complete, last = LINE_END.split(chunk.removeprefix(b"\n") if after_cr else chunk)
        after_cr = chunk.endswith(b"\r")
        for ending in complete:
            yield b"".join([*partial, ending]).decode("utf-8", "replace").strip("\ufeff")
            partial = []
        partial.append(last)
    yield b"".join(partial).decode("utf-8", "replace").strip("\ufeff")


class _Event:
    """The event of a stream that is being read: its name, and data lines that are no object by themselves."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._is_error = False

    @staticmethod
    def takes(line: str) -> bool:
        """Return whether a line is of an event stream, or empty."""
        return not line.strip() or line.startswith(FIELDS)

    def read(self, line: str) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the objects that are whole with this line, and the data of an event that has none."""
        if not line.strip():
            return self._end()
        name, _, value = line.partition(":")
        if name == "event":
            self._is_error = value.strip() == "error"
        if name not in FIELDS_WITH_DATA:
            return [], []
        document = None if self._held else _object(value)
        if document is None:
            self._held += [value.strip()] if self._held or value.strip() else []
            return [], []
        return [self._marked(document)], []

    def _end(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Read the lines that are held as one object, else each as its own."""
        held, self._held = self._held, []
        text = "\n".join(held)
        whole = _object(text)
        objects = [one for one in map(_object, held) if one is not None] if whole is None else [whole]
        if held and not objects and self._is_error:
            objects = [{"error": {"message": excerpt_of(text)}}]
        found = [self._marked(document) for document in objects]
        self._is_error = False
        return found, [] if found else held

    def _marked(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return an object of an event named error as what it is."""
        return {"error": document} if self._is_error and not error_message(document) else document


def _object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, or None."""
    text = text.strip()
    if text == "[DONE]":
        return DONE
    parsed = parsed_json(text) if text.startswith("{") else None
    return parsed if isinstance(parsed, dict) else None


def parse_body(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a body that is one JSON value. Raise NoDocument."""
    parsed = parsed_json(text)
    objects = [item for item in (parsed if isinstance(parsed, list) else [parsed]) if isinstance(item, dict)]
    if not objects:
        raise NoDocument(text)
    yield from objects


def parsed_json(text: str) -> Any:
    """Return the parsed JSON, or None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def error_message_from_text(text: str) -> str:
    """Return the message of an error response of any form, as one line."""
    return excerpt_of(error_message(error_document(text)) or text)


def error_message(document: dict[str, Any]) -> str:
    """Return the error message in a document, or ""."""
    error = document.get("error")
    if isinstance(error, dict):
        error = error.get("message") or error.get("code") or error.get("type") or "unnamed error"
    if not error and (document.get("object") == "error" or "choices" not in document):
        message = document.get("message") if isinstance(document.get("message"), str) else ""
        error = message or document.get("detail")
    return error if isinstance(error, str) else json.dumps(error) if error else ""


def error_document(text: str) -> dict[str, Any]:
    """Return the JSON object of an error response, or {} if it is none. Gemini sends a list with one object."""
    parsed = parsed_json(text)
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    return parsed if isinstance(parsed, dict) else {}


def error_codes(document: dict[str, Any]) -> frozenset[str]:
    """Return the machine-readable codes in an error: codes, types, reasons, and names of metadata."""
    error = document.get("error")
    if not isinstance(error, dict):
        return frozenset()
    details = error.get("details")
    reasons = [item.get("reason") for item in details if isinstance(item, dict)] if isinstance(details, list) else []
    metadata = error.get("metadata")
    names = list(metadata) if isinstance(metadata, dict) else []
    codes = [error.get("code"), error.get("type"), *reasons, *names]
    return frozenset(code for code in codes if isinstance(code, str))


def excerpt_of(text: str) -> str:
    """Return the beginning of a text as one line; for a web page, its title."""
    if HTML_START.match(text):
        title = TITLE.search(text[:MAX_PAGE])
        text = (
            gettext("a web page, “%(value)s”") % {"value": unescape(title[2])}
            if title
            else gettext("a web page without a title")
        )
    line = " ".join("".join(character if character.isprintable() else " " for character in text[:2000]).split())
    return line if len(line) <= MAX_EXCERPT else line[: MAX_EXCERPT - 1] + "…"
