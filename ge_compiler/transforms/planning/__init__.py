"""One memory planner for every space: lifetimes of buffers, their offsets, and the table that shows who holds what."""
