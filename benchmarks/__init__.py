"""What ``make bench`` runs. Machines are noisy: each figure is a ratio against a baseline of the same run."""
