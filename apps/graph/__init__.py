"""The graph of a chat, a character or a memory: what memories name, and how it is connected; its API and its page."""
