"""JSON documents: a strict parser, JSON Patch and JSON Merge Patch."""
