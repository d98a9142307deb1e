"""Benchmarks of ``make bench``. Each reports a ratio to a baseline of the same run, since machines are noisy."""
