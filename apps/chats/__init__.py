"""Characters, chats, messages and their swipes, the log of changes, and the one door through which
every write to a chat goes. File formats are read and written here.
"""
