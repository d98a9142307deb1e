"""The HTTP surface of mem0's clients, under ``/mem0/``: their ids as namespaces, characters and chats."""
