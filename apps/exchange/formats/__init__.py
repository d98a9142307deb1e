"""Parsers and renderers of chat files, one module per format, of cards and of lorebooks. None reads the database.

Each parser of chats takes a binary file and returns `parsed.ParsedChat` objects, with reports of what was skipped or
repaired.
"""
