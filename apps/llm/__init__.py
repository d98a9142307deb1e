"""Models behind interfaces: generation and embedding backends and token counting.
It knows nothing of chats or memories; the product registers what it wants done.
"""
