"""What a run does, a module a stage. Each reads, asks a model where it has to, and returns what is to be written."""
