"""Language models behind interfaces: generation and embedding backends, user connections, usage limits, token counts.

Independent of chats and memories: other apps register the tasks of the built-in backend.
"""
