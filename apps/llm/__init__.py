"""Language models behind interfaces: generation and embedding backends, user connections, usage limits, token counts.

Knows nothing of chats or memories: upper apps register the tasks of the built-in backend.
"""
