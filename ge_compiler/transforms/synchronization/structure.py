"""Where ops stand in the loops of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.npu import InstructionOp
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.tile import GridOp


@dataclass(frozen=True)
class Meeting:
    """The innermost block that holds two ops, and the positions of what holds them there."""

    block: Block
    first: int
    second: int


@dataclass
class Structure:
    """The blocks of a kernel: its body, and the bodies of loops, each of which may run any number of times."""

    kernel: FuncOp
    bodies: dict[Block, tuple[Operation, ...]] = field(default_factory=dict[Block, tuple[Operation, ...]])
    """The ops of each block without its terminator."""
    positions: dict[Operation, int] = field(default_factory=dict[Operation, int])
    irregular: Operation | None = None
    """An op that holds instructions and is no loop, such as a branch."""

    def __post_init__(self) -> None:
        if len(self.kernel.body.blocks) != 1:
            raise CompileError.at(self.kernel, f"@{self.kernel.sym_name.data} has several blocks; a kernel has one, with loops in it")
        self._number(self.kernel.body.block)

    def _number(self, block: Block) -> None:
        ops = tuple(op for op in block.ops if not op.has_trait(IsTerminator))
        self.bodies[block] = ops
        for position, op in enumerate(ops):
            self.positions[op] = position
            for region in op.regions:
                for inner in region.blocks:
                    self._number(inner)
            if op.regions and not isinstance(op, GridOp | ForOp) and any(isinstance(inner, InstructionOp) for inner in op.walk()):
                self.irregular = self.irregular or op

    def repeats(self, block: Block) -> bool:
        """Whether a block may run more than once."""
        return block is not self.kernel.body.block

    def chain(self, op: Operation) -> list[tuple[Block, Operation]]:
        """From the kernel's body to the block of `op`: each block, and the op in it that is `op` or holds it."""
        chain: list[tuple[Block, Operation]] = []
        while op is not self.kernel:
            block, parent = op.parent, op.parent_op()
            assert block is not None
            assert parent is not None
            chain.append((block, op))
            op = parent
        return chain[::-1]

    def meeting(self, x: Operation, y: Operation) -> Meeting:
        """Where `x` and `y` meet."""
        if (block := x.parent) is not None and block is y.parent:
            return Meeting(block, self.positions[x], self.positions[y])
        block, first, second = next(
            (block, a, b) for (block, a), (other, b) in reversed(list(zip(self.chain(x), self.chain(y), strict=False))) if block is other
        )
        return Meeting(block, self.positions[first], self.positions[second])

    def outermost(self, block: Block) -> Operation:
        """The op in the kernel's body that holds `block`."""
        parent = block.parent_op()
        assert parent is not None
        return self.chain(parent)[0][1]

    def sees(self, block: Block, position: int, value: SSAValue) -> bool:
        """Whether `value` is defined where the op at `position` of `block` stands."""
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent
        if home is block:
            return isinstance(owner, Block) or self.positions[owner] < position
        parent = block.parent_op()
        return parent is not None and home is not None and home in {outer for outer, _ in self.chain(parent)}


def blocks_of(grid: GridOp, target: NpuTarget, core: int) -> int:
    """How many blocks of a grid run on a core; the first core has most, the last fewest."""
    return max(0, -(-(prod(grid.grid) - core) // target.cores))
