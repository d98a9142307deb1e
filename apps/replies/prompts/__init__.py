"""The whole prompt of a chat: card, persona, lorebook, slots of memory, history and author's note."""
