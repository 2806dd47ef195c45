"""How long programs of instructions take: read once from the IR, then timed exactly by a model that docs/timing-model.md explains."""
