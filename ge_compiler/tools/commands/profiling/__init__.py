"""What `gec profile` says about the time of a program: as text, as tables, as traces, and beside another program."""

from __future__ import annotations
