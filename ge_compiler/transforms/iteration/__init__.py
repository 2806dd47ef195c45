"""The iteration domain of a kernel: which elements it runs over, and where every operand and result lies there."""
