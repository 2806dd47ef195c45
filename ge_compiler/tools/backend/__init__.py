"""The parts of the PyTorch backend."""
