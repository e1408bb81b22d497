"""Measurements beside floors and peers: ratios within one run, never absolute times. See docs/benchmarks.md."""
