"""Letting iterations overlap: skewed loops, and which slot a trip uses."""
