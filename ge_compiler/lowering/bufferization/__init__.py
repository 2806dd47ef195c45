"""The parts of bufferize-tile: extents and views of tiles, kernels, and `@main`."""
