"""What a message is in requests and files, and the data that programs store with it, such as recaps. Reads no rows."""
