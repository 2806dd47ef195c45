"""The sub-commands of gec, one file each, and what they share."""

from __future__ import annotations
