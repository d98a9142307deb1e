"""Replies of a connected model: the whole prompt of a chat, and generations that are stored while they stream."""
