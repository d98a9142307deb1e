"""An original story to show Loci with: a character, two chats, and what loads them."""
