"""The parts of ge-opt, used by every tool that runs passes: the registry, pipeline texts, the pass manager, expected diagnostics."""
