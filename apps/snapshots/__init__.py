"""Snapshots: archives of a chat, of the settings or of a whole account, and their restoration."""
