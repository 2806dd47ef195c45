"""Ordering the instructions of a kernel: what they touch, which of them depend on each other, and the flags that follow from it."""
