"""Random kernels are in order after insert-sync, in the eyes of a checker that shares no code with it, down to numbered events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_compiler.dialects.npu import SyncOp
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.runtime.checks import check_sync
from ge_compiler.transforms.allocate_events import AllocateEventsPass
from ge_compiler.transforms.insert_sync import InsertSyncPass
from ge_compiler.transforms.remove_redundant_sync import RemoveRedundantSyncPass

# ---- random kernels ---------------------------------------------------------------------------------------------------

ELEMENT = {"ub": "f32", "l0c": "f32", "l1": "f16", "l0a": "f16", "l0b": "f16"}
BYTES = {"ub": 1024, "l0c": 1024, "l1": 512, "l0a": 512, "l0b": 512}
STEP = {"ub": 512, "l0c": 512, "l1": 256, "l0a": 512, "l0b": 512}
"""Offsets are multiples of it: in some memories buffers overlap by half."""
PLACES = 6


@dataclass(frozen=True, eq=False)
class Tile:
    """A buffer that a kernel has named."""

    name: str
    space: str
    offsets: tuple[int, ...]

    @property
    def type(self) -> str:
        return f"memref<16x16x{ELEMENT[self.space]}, #npu.mem<{self.space}>>"

    def overlaps(self, other: Tile) -> bool:
        return self.space == other.space and any(abs(a - b) < BYTES[self.space] for a in self.offsets for b in other.offsets)


def untouched(tiles: set[Tile], by: Sequence[Tile]) -> set[Tile]:
    return {tile for tile in tiles if not any(tile.overlaps(other) for other in by)}


@dataclass
class Writer:
    """Writes a kernel in which every read finds what was written to it, whatever trips its loops run."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def name(self, hint: str) -> str:
        self.names += 1
        return f"%{hint}{self.names}"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("  " * depth + line)

    def tiles(self, depth: int, counter: str) -> list[Tile]:
        """New buffers; `counter` chooses the slot of those that have two."""
        slot = self.name("s")
        self.emit(depth, f"{slot} = arith.remui {counter}, %c2 : index")
        spaces = [*self.random.choices(["ub", "l1", "l0a", "l0b", "l0c"], k=self.random.randint(0, 3)), "ub", "l1"]
        return [self.tile(depth, space, self.random.choice([None, slot])) for space in spaces]

    def tile(self, depth: int, space: str, slot: str | None) -> Tile:
        first = self.random.randrange(PLACES) * STEP[space]
        offsets = (first,) if slot is None else (first, first + BYTES[space] * self.random.randint(1, 2))
        tile = Tile(self.name(space), space, offsets)
        chosen = "" if slot is None else f" slot {slot}"
        self.emit(depth, f'{tile.name} = buf.at "{tile.name[1:]}" [{", ".join(map(str, offsets))}]{chosen} : {tile.type}')
        return tile

    def body(self, depth: int, valid: set[Tile], own: Sequence[Tile]) -> set[Tile]:
        """Ops that write `own` buffers only; the buffers that hold something behind them, where `valid` ones did before."""
        for _ in range(self.random.randint(2, 6)):
            if depth < 4 and self.random.random() < 0.35:
                valid = self.loop(depth, valid, own)
            else:
                valid = self.instruction(depth, valid, self.random.choice(own))
        return valid

    def loop(self, depth: int, valid: set[Tile], own: Sequence[Tile]) -> set[Tile]:
        trips, counter = self.random.choice([0, 1, 2, 3, 5]), self.name("i")
        self.emit(depth, f"scf.for {counter} = %c0 to %c{trips} step %c1 {{")
        outer = self.random.sample(own, self.random.randint(1, len(own)))
        inner = self.tiles(depth + 1, counter)
        start, lines = untouched(valid, [*outer, *inner]), len(self.lines)
        while not start <= (end := self.body(depth + 1, start, [*outer, *inner])):
            # Loops inside have overwritten what the next iteration would read: once more, without it.
            start &= end
            del self.lines[lines:]
        self.emit(depth, "}")
        return start | {tile for tile in end if tile in outer and trips}

    def instruction(self, depth: int, valid: set[Tile], out: Tile) -> set[Tile]:
        line = self.random.choice(self.choices(sorted(valid, key=lambda tile: tile.name), out))
        self.emit(depth, line)
        return valid if line.startswith("npu.store") else untouched(valid, [out]) | ({out} if line.startswith("npu.") else set())

    def choices(self, valid: Sequence[Tile], out: Tile) -> list[str]:
        """The instructions that can write `out`, and stores."""
        held = {space: [tile for tile in valid if tile.space == space] for space in ELEMENT}
        into = f"outs({out.name} : {out.type})"
        unary = {"ub": [("l0c", "npu.fixpipe", ""), ("ub", "npu.vabs", ""), ("ub", "npu.vmuls", " {scalar = 2.0 : f32}")]}
        unary |= {"l0a": [("l1", "npu.load2d", "")], "l0b": [("l1", "npu.load2d", " {transpose}")]}
        lines = [
            f"{name} ins({tile.name} : {tile.type}) {into}{attributes}"
            for space, name, attributes in unary.get(out.space, [])
            for tile in held[space]
        ]
        match out.space:
            case "ub":
                lines += [f"npu.vadd ins({x.name}, {y.name} : {x.type}, {y.type}) {into}" for x in held["ub"] for y in held["ub"]]
                lines += [f"npu.load <nd> ins(%x : memref<16x16xf32>) {into}", f"npu.vdup 1.0 : f32 {into}"]
            case "l1":
                lines += [f"npu.load <nd2nz> ins(%w : memref<16x16xf16>) {into}"]
            case "l0c":
                for a, b in ((a, b) for a in held["l0a"] for b in held["l0b"]):
                    operands = f"ins({a.name}, {b.name} : {a.type}, {b.type}) {into}"
                    lines += [f"npu.mmad {operands} init %true", *([f"npu.mmad {operands} init %false"] if out in valid else [])]
            case _:
                pass
        lines += [f"npu.store ins({tile.name} : {tile.type}) outs(%row : {ROW})" for tile in held["ub"]]
        return lines or ["// nothing can be written here yet"]


ROW = "memref<16x16xf32, strided<[16, 1], offset: ?>>"
CONSTANTS = "\n".join(f"  %c{n} = arith.constant {n} : index" for n in range(6))
SIGNATURE = "%x: memref<16x16xf32>, %w: memref<16x16xf16>, %out: memref<70x16x16xf32>"


def random_kernel(seed: int) -> str:
    """A grid of 1, 40 or 70 blocks on 32 cores: a core has up to three, or none."""
    writer = Writer(Random(seed))
    blocks, loop = writer.random.choice([1, 40, 70]), writer.random.choice(["tile.forall", "tile.grid_loop %t"])
    writer.emit(1, f"{loop} (%b) in ({blocks}) {{")
    writer.emit(2, f"%row = memref.subview %out[%b, 0, 0] [1, 16, 16] [1, 1, 1] : memref<70x16x16xf32> to {ROW}")
    writer.body(2, set(), writer.tiles(2, "%t" if "%t" in loop else "%b"))
    writer.emit(1, "}")
    body = "\n".join(writer.lines)
    truths = "  %true = arith.constant true\n  %false = arith.constant false"
    return f"func.func private @kernel({SIGNATURE}) {{\n{CONSTANTS}\n{truths}\n{body}\n  func.return\n}}\n"


# ---- what must hold ---------------------------------------------------------------------------------------------------


def parsed(text: str) -> ModuleOp:
    module = parse_module(text, "random.mlir")
    verify_module(module)
    return module


def faults(module: ModuleOp) -> list[str]:
    kernel = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    return [fault.message for fault in check_sync(kernel, target_of(module)).faults]


def sync_ops(module: ModuleOp) -> int:
    return sum(isinstance(op, SyncOp) for op in module.walk())


def run(module: ModuleOp, *passes: ModulePass) -> ModuleOp:
    for each in passes:
        each.apply(Context(), module)
        verify_module(module)
    return module


def check(seed: int) -> None:
    inserted = run(parsed(random_kernel(seed)), InsertSyncPass("flags"))
    assert faults(run(parsed(str(inserted)), AllocateEventsPass())) == []
    reduced = run(parsed(str(inserted)), RemoveRedundantSyncPass())
    assert sync_ops(reduced) <= sync_ops(inserted)
    assert faults(run(parsed(str(reduced)), AllocateEventsPass())) == []


@pytest.mark.parametrize("seed", range(16))
def test_random_kernels_are_in_order(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 200))
def test_many_random_kernels_are_in_order(seed: int) -> None:
    check(seed)
