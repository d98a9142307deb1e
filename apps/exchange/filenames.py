"""Derive titles from file names, and file names from titles."""

from pathlib import PurePath

from apps.chats.limits import MAX_NAME_LENGTH


def title_from_filename(filename: str) -> str:
    """Return the stem of a file name as a title, which may be empty. Clients on Windows may send a path."""
    stem = PurePath(filename.replace("\\", "/")).stem
    return "".join(char if char.isprintable() else " " for char in stem).strip()[:MAX_NAME_LENGTH]


def safe_filename(title: str) -> str:
    """Return a title without characters that file systems refuse. It may be empty."""
    return "".join(char if char.isprintable() and char not in '/\\:*?"<>|' else "_" for char in title).strip(" .")
