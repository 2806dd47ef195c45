"""What `outline-kernels` decides: which kernels are equal, and where launches write."""
