"""Where launches write: into a `tensor.empty`, or over a value that is not needed any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.fused.indexing import ScatterOp
from ge_compiler.dialects.fused.views import InsertOp
from ge_compiler.dialects.states import is_state

_VIEW = "tile.view"


def updated_argument(value: SSAValue) -> BlockArgument | None:
    """The argument that `value` is with parts of it replaced, as `fused.insert` and `fused.scatter` do; `None` if it is something else."""
    is_update = False
    while isinstance(op := value.owner, InsertOp | ScatterOp):
        value, is_update = op.dest, True
    return value if is_update and isinstance(value, BlockArgument) else None


def uses_of_contents(value: SSAValue, *, is_view: bool = False) -> Iterator[tuple[Operation, bool]]:
    """The ops that use a value, and whether they use it under another shape."""
    for use in value.uses:
        if use.operation.name == _VIEW:
            yield from uses_of_contents(use.operation.results[0], is_view=True)
        else:
            yield use.operation, is_view


def verify_destinations(launch: Operation, destinations: Sequence[SSAValue]) -> None:
    """
    Raises `CompileError` at `launch` if it overwrites what is not its own, or what is needed later.

    Values with addresses are not followed: what lies in them is known by the order of the launches.
    """
    overwritten = [(i, x) for i, x in enumerate(destinations) if isinstance(x.type, TensorType) and not isinstance(x.owner, EmptyOp)]
    for i, value in overwritten:
        name = f"destination #{i}{_name(value)}"
        if value in destinations[:i]:
            raise CompileError.at(launch, f"{name} is also destination #{list(destinations).index(value)}; results need a place each")
        if not _may_be_overwritten(value):
            raise CompileError.at(launch, f"{name} is {_kind(value)}, which may only be read; copy it first", *_made(value))
        reader = _reader_from(launch, value)
        if reader is not None:
            raise CompileError.at(
                launch, f"{name} is overwritten, but its old contents are used after; copy it first", Note("used here", reader.location)
            )


def _may_be_overwritten(value: SSAValue) -> bool:
    owner = value.owner
    return is_state(value) if isinstance(owner, Block) else owner.name == "fused.launch"


def _kind(value: SSAValue) -> str:
    if isinstance(value.owner, Block):
        return "an input"
    kinds = {"ge.load_weight": "a weight", "ge.Const": "a constant", _VIEW: "a view of another value"}
    return kinds.get(value.owner.name, f"the result of a {value.owner.name}")


def _made(value: SSAValue) -> tuple[Note, ...]:
    return () if isinstance(value.owner, Block) else (Note("made here", value.owner.location),)


def _reader_from(launch: Operation, value: SSAValue) -> Operation | None:
    """An op that uses the old contents of a destination once `launch` writes: what it takes itself, and as it is, it reads in time."""
    for op, is_view in uses_of_contents(value):
        if (op is launch and is_view) or launch.is_before_in_block(op):
            return op
    return None


def _name(value: SSAValue) -> str:
    return f" (%{value.name_hint})" if value.name_hint else ""
