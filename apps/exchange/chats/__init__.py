"""Import and export of chats; large imports run as background jobs."""
