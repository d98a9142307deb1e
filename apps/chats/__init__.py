"""Characters, lorebooks, chats, messages and their swipes, and the log of changes to chats.

``operations`` writes, ``queries`` and ``change_log`` read, ``formats`` parses and renders files.
"""
