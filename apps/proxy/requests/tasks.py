"""Recognise tasks that clients set a model in a turn of their own. Nothing here reads the database.

They come before the first turn too: a client may ask what to search for before it asks for a reply.
"""

import re

# Open WebUI's prompts: a heading, then what to do, and the chat at the end. Persons use such headings too.
HEADED = re.compile(r"\s*#{1,6} *task\b", re.IGNORECASE)
HEADED_PARTS = re.compile(r"<chat_history>|^#{1,6} *chat history\b", re.I | re.M)
# LibreChat's, Chatbox's, Cherry Studio's and others': what to make of a conversation, and that conversation.
WANTED = r"titles?|names?|headlines?|topics?|tags|keywords|summary|search quer(?:y|ies)|quer(?:y|ies)|follow[- ]?ups?"
MADE = re.compile(
    rf"\b(?:generate|create|write|provide|give|suggest|make|propose|summari[sz]e|analy[sz]e|determine|rephrase|name)\b"
    rf"[^\n]{{0,160}}\b(?:{WANTED}|standalone question)\b",
    re.IGNORECASE,
)
OF_A_CHAT = re.compile(r"\b(?:chat|conversation|dialog(?:ue)?)\b", re.IGNORECASE)
TRANSCRIPT = re.compile(
    r"^\W{0,3}(?:user|human|assistant|ai|ai assistant|model|bot)\W{0,3}:"
    r"|</?(?:chat_history|conversation|chat|messages)>|\"role\" *: *\"(?:user|assistant)\"",
    re.IGNORECASE | re.MULTILINE,
)
# SillyTavern's extensions, where post-processing has made their system message a user's.
QUIET = re.compile(
    r"\W{0,3}(?:pause your roleplay\b|ignore previous instructions?\. *summari[sz]e\b"
    r"|in the next response i want you to provide only\b)",
    re.IGNORECASE,
)
BEGINNING = 2_000  # characters in which a task says what it wants


def is_task(text: str) -> bool:
    """Return whether a turn is a task for the client's own use, such as a title or words to search for.

    That is certain only of one that has the client's own headings, or a conversation besides what to make of it.
    """
    beginning = text[:BEGINNING]
    if heading := HEADED.match(beginning):
        return bool(HEADED_PARTS.search(text, heading.end()))
    transcript = TRANSCRIPT.search(text)
    wish = beginning[: transcript.start()] if transcript else ""
    return bool(MADE.search(wish)) and bool(OF_A_CHAT.search(wish))


def is_quiet_prompt(text: str) -> bool:
    """Return whether a turn is what an extension of SillyTavern asks besides the chat that it comes with."""
    return bool(QUIET.match(text))
