"""Limits of chats and what is in them, for columns, requests and files alike."""

MAX_NAME_LENGTH = 200  # characters of a name or a title
# Real messages have a few dozen swipes. One with more than this is rejected as damaged.
MAX_SWIPES = 10_000
MAX_BATCH = 1000  # messages or patches in a request; messages that are inserted at a time
