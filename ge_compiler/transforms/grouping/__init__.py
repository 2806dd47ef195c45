"""Which kernels become one: how two are merged, whether the result is a kernel, and whether it moves fewer bytes."""
