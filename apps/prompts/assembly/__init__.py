"""Assembly of a prompt: memory in its slots, and with it the card, the persona, lorebooks, history and notes."""
