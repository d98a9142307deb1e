"""Characters, lorebooks, chats, messages and their swipes, and the log of changes to chats.

``operations`` writes, ``queries`` reads, ``formats`` parses and renders files.
"""
