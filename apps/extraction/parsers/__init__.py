"""What models reply, read and printed: one module for each kind of line. Pure."""
