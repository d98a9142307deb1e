"""Characters, lorebooks, chats, messages and their swipes, and the log of changes to chats.

``operations`` has all writes, ``queries`` and ``change_log`` the reads, ``formats`` the parsers and writers of files.
"""
