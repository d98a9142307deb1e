"""Chat file formats: pure parsers and renderers, one module a format, without Django.

A parser takes a binary file and gives a `parsed.ParsedChat`; what it could not use stands in its report.
"""
