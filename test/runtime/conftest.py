"""What a program means must not depend on whether its chip has one kind of core or two."""

from __future__ import annotations

import pytest

from ge_compiler.dialects.target import NpuTarget, available_targets, load_target


@pytest.fixture(params=available_targets())
def target(request: pytest.FixtureRequest) -> NpuTarget:
    """Every chip that ships."""
    return load_target(request.param)
