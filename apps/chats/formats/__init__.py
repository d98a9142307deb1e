"""Parsers and renderers of chat file formats, one module per format. Without Django.

Each parser takes a binary file and returns `parsed.ParsedChat` objects, with reports of what was skipped or repaired.
"""
