"""Memories in the formats of other programs: documents of Smart Memory and ST-BME, lorebooks, Markdown.

What those programs left inside an imported chat is read with it. Lorebooks and settings files are imported into the
memories of a chat or of a character, and memories are exported as a lorebook or as Markdown.
"""
