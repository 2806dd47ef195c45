"""ge-opt: read a module, run passes over it, print it."""

from __future__ import annotations


def main() -> int:
    raise NotImplementedError
