"""How operators of `ge` are written in primitives of `fused`: `table.py` names a function of a few lines for each."""
