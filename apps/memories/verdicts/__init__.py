"""What becomes of a candidate: a new memory, the replacement of an older one, or a repetition."""
