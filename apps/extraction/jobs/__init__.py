"""Background jobs other than runs: embeddings of a new model, the index of passages, tests of models."""
