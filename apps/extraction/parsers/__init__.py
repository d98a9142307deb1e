"""Parsers and printers of model replies, one module for each kind of entry. Pure."""
