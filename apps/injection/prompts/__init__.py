"""Assembly of a prompt from filled slots and the history of a chat."""
