"""Characters, lorebooks, chats, messages and their swipes, and the log of changes to chats.

``operations`` writes, ``queries`` reads; ``message_data`` says what a message is in requests and files.
"""
