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

from ge_compiler.dialects.diagnostics import collect_remarks
from ge_compiler.dialects.npu import SyncOp
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.runtime.checks import check_sync
from ge_compiler.runtime.checks.mutation_score import Bench
from ge_compiler.transforms.allocate_events import AllocateEventsPass
from ge_compiler.transforms.insert_sync import InsertSyncPass
from ge_compiler.transforms.remove_redundant_sync import RemoveRedundantSyncPass

# ---- random kernels ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chip:
    """What kernels for a target are made of: tiles of 16 x 16 elements for the cube, of 8 x 16 for each vector lane."""

    target: str
    cube_element: str
    workspace: bool
    """Whether the accumulator reaches the vector lanes through global memory, and they the cube."""

    def type(self, space: str) -> str:
        match space:
            case "ub":
                return "memref<8x16xf32, #npu.mem<ub>>"
            case "ws":
                return VIEW
            case "l0c":
                return "memref<16x16xf32, #npu.mem<l0c>>"
            case _:
                return f"memref<16x16x{self.cube_element}, #npu.mem<{space}>>"

    def bytes(self, space: str) -> int:
        return {"ub": 512, "ws": 1, "l0c": 1024}.get(space, 512 if self.cube_element == "f16" else 1024)


UNIFIED, SPLIT = Chip("Ascend910A", "f16", workspace=False), Chip("Ascend910B2", "f32", workspace=True)
VIEW = "memref<16x16xf32, strided<[16, 1], offset: ?>>"
PART = "memref<8x16xf32, strided<[16, 1], offset: ?>>"
SPACES = ("ub", "l1", "l0a", "l0b", "l0c")
PLACES = 6


@dataclass(frozen=True, eq=False)
class Tile:
    """A buffer that a kernel has named; in workspace, offsets are slots."""

    name: str
    space: str
    offsets: tuple[int, ...]
    type: str
    bytes: int

    def overlaps(self, other: Tile) -> bool:
        return self.space == other.space and any(abs(a - b) < self.bytes for a in self.offsets for b in other.offsets)


def untouched(tiles: set[Tile], by: Sequence[Tile]) -> set[Tile]:
    return {tile for tile in tiles if not any(tile.overlaps(other) for other in by)}


@dataclass
class Writer:
    """Writes a kernel in which every read finds what was written to it, whatever trips its loops run."""

    random: Random
    chip: Chip
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
        spaces = [*(SPACES if depth == 3 else ("ub", "l1")), *self.random.choices(SPACES, k=2), *["ws"] * self.chip.workspace]
        return [self.tile(depth, space, self.random.choice([None, slot])) for space in spaces]

    def tile(self, depth: int, space: str, slot: str | None) -> Tile:
        name, type_, size = self.name(space), self.chip.type(space), self.chip.bytes(space)
        if space == "ws":
            chosen = slot or f"{self.random.randint(0, 1)}"
            offsets = (0, 1) if slot else (int(chosen),)
            self.emit(depth, f"{name} = memref.subview %ws[%core, {chosen}, 0, 0] [1, 1, 16, 16] [1, 1, 1, 1] : {WORKSPACE} to {VIEW}")
            return Tile(name, space, offsets, type_, size)
        # Offsets are multiples of half a buffer where the memory allows it: buffers overlap in part, too.
        first = self.random.randrange(PLACES) * (size // 2 if space in ("ub", "l1", "l0c") else 1024)
        offsets = (first,) if slot is None else (first, first + 1024 * self.random.randint(1, 2))
        chosen = "" if slot is None else f" slot {slot}"
        self.emit(depth, f'{name} = buf.at "{name[1:]}" [{", ".join(map(str, offsets))}]{chosen} : {type_}')
        return Tile(name, space, offsets, type_, size)

    def body(self, depth: int, valid: set[Tile], own: Sequence[Tile]) -> set[Tile]:
        """Ops that write `own` buffers only; the buffers that hold something behind them, where `valid` ones did before."""
        for _ in range(self.random.randint(*((8, 16) if depth == 3 else (3, 6)))):
            write = self.loop if depth < 5 and self.random.random() < 0.25 else self.instruction
            valid = write(depth, valid, own)
        return valid

    def loop(self, depth: int, valid: set[Tile], own: Sequence[Tile]) -> set[Tile]:
        trips, counter = self.random.choice([0, 1, 2, 3]), self.name("i")
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

    def instruction(self, depth: int, valid: set[Tile], own: Sequence[Tile]) -> set[Tile]:
        held = {space: sorted((t for t in valid if t.space == space), key=lambda tile: tile.name) for space in (*SPACES, "ws")}
        choices = [(lines, out) for out in own for lines in self.choices(held, out, out in valid)]
        choices += [(lines, None) for lines in self.stores(held["ub"])]
        # By kind first, so that what needs much to be there is not rare.
        kinds = sorted({(lines[-1].split()[0], len(lines)) for lines, _ in choices})
        kind = self.random.choice(kinds)
        lines, out = self.random.choice([choice for choice in choices if (choice[0][-1].split()[0], len(choice[0])) == kind])
        for line in lines:
            self.emit(depth, line)
        return valid if out is None else untouched(valid, [out]) | {out}

    def stores(self, sources: Sequence[Tile]) -> list[list[str]]:
        return [[f"npu.store ins({tile.name} : {tile.type}) outs(%row : {PART})"] for tile in sources]

    def choices(self, held: dict[str, list[Tile]], out: Tile, accumulate: bool) -> list[list[str]]:
        """The instructions that can write `out`, each after the views that it needs."""
        into = f"outs({out.name} : {out.type})"
        match out.space:
            case "ub":
                pairs = [(x, y) for x in held["ub"] for y in held["ub"]]
                return [
                    [f"npu.load <nd> ins(%x : memref<8x16xf32>) {into}"],
                    [f"npu.vdup 1.0 : f32 {into}"],
                    *([f"npu.vadd ins({x.name}, {y.name} : {x.type}, {y.type}) {into}"] for x, y in pairs),
                    *([f"npu.vabs ins({x.name} : {x.type}) {into}"] for x in held["ub"]),
                    *(self.through_view("npu.load <nd>", tile, into) for tile in held["ws"]),
                    *(self.through_view("npu.fixpipe", tile, into) for tile in held["l0c"] if not self.chip.workspace),
                ]
            case "ws":
                # A lane writes its rows alone: what it reads are its rows, what the cube reads are all.
                lanes = [self.into_part(tile, out) for tile in held["ub"]]
                return [*([f"npu.fixpipe ins({x.name} : {x.type}) {into}"] for x in held["l0c"]), *lanes]
            case "l1":
                workspace = [[f"npu.load <nd2nz> ins({tile.name} : {tile.type}) {into}"] for tile in held["ws"]]
                return [[f"npu.load <nd2nz> ins(%w : memref<16x16x{self.chip.cube_element}>) {into}"], *workspace]
            case "l0c":
                inits = ["%true", *["%false"] * accumulate]
                operands = [f"{a.name}, {b.name} : {a.type}, {b.type}" for a in held["l0a"] for b in held["l0b"]]
                return [[f"npu.mmad ins({each}) {into} init {init}"] for each in operands for init in inits]
            case _:
                transpose = " {transpose}" * (out.space == "l0b")
                return [[f"npu.load2d ins({tile.name} : {tile.type}) {into}{transpose}"] for tile in held["l1"]]

    def through_view(self, instruction: str, tile: Tile, into: str) -> list[str]:
        """An instruction on the rows of a lane."""
        view, row = self.name("part"), "0" if tile.space == "l0c" else "%first"
        type_ = "memref<8x16xf32, strided<[16, 1]>, #npu.mem<l0c>>" if tile.space == "l0c" else PART
        return [
            f"{view} = memref.subview {tile.name}[{row}, 0] [8, 16] [1, 1] : {tile.type} to {type_}",
            f"{instruction} ins({view} : {type_}) {into}",
        ]

    def into_part(self, tile: Tile, out: Tile) -> list[str]:
        view = self.name("part")
        return [
            f"{view} = memref.subview {out.name}[%first, 0] [8, 16] [1, 1] : {out.type} to {PART}",
            f"npu.store ins({tile.name} : {tile.type}) outs({view} : {PART})",
        ]


WORKSPACE = "memref<32x2x16x16xf32>"
OUT = "memref<70x2x8x16xf32>"
HEAD = "\n".join(
    [
        *(f"    %c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 8)),
        "    %true = arith.constant true\n    %false = arith.constant false",
        "    %core = npu.block_idx\n    %lane = npu.sub_block_idx\n    %first = arith.muli %lane, %c8 : index",
    ]
)


def random_kernel(seed: int, chip: Chip) -> str:
    """A grid of 1, 40 or 70 blocks on 32 or 24 cores: a core has up to three, or none."""
    writer = Writer(Random(seed), chip)
    blocks, loop = writer.random.choice([1, 40, 70]), writer.random.choice(["tile.forall", "tile.grid_loop %t"])
    writer.emit(2, f"{loop} (%b) in ({blocks}) {{")
    writer.emit(3, f"%row = memref.subview %out[%b, %lane, 0, 0] [1, 1, 8, 16] [1, 1, 1, 1] : {OUT} to {PART}")
    writer.body(3, set(), writer.tiles(3, "%t" if "%t" in loop else "%b"))
    writer.emit(2, "}")
    arguments = f"%x: memref<8x16xf32>, %w: memref<16x16x{chip.cube_element}>, %out: {OUT}, %ws: {WORKSPACE}"
    kernel = "\n".join([f"  func.func private @kernel({arguments}) {{", HEAD, *writer.lines, "    func.return", "  }"])
    return f'builtin.module attributes {{ge.target = "{chip.target}"}} {{\n{kernel}\n}}\n'


# ---- what must hold ---------------------------------------------------------------------------------------------------


def parsed(text: str) -> ModuleOp:
    module = parse_module(text, "random.mlir")
    verify_module(module)
    return module


def the_kernel(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def faults(module: ModuleOp) -> list[str]:
    return [fault.message for fault in check_sync(the_kernel(module), target_of(module)).faults]


def sync_ops(module: ModuleOp) -> int:
    return sum(isinstance(op, SyncOp) for op in module.walk())


def run(module: ModuleOp, *passes: ModulePass) -> ModuleOp:
    for each in passes:
        each.apply(Context(), module)
        verify_module(module)
    return module


def check(seed: int, chip: Chip) -> None:
    text = random_kernel(seed, chip)
    one_by_one = run(parsed(text), InsertSyncPass("barrier-all"), AllocateEventsPass())
    assert faults(one_by_one) == []
    inserted = run(parsed(text), InsertSyncPass("flags"))
    numbered = run(parsed(str(inserted)), AllocateEventsPass())
    assert faults(numbered) == []
    reduced = run(parsed(str(inserted)), RemoveRedundantSyncPass())
    assert sync_ops(reduced) <= sync_ops(inserted)
    assert faults(run(reduced, AllocateEventsPass())) == []
    # The values are those of one instruction at a time, whichever pipe is the faster.
    bench = Bench(the_kernel(one_by_one), target_of(one_by_one), orders=3)
    assert not bench.is_harmful(the_kernel(numbered))
    assert not bench.is_harmful(the_kernel(reduced))


CHIPS = pytest.mark.parametrize("chip", [UNIFIED, SPLIT], ids=lambda chip: chip.target)


@CHIPS
@pytest.mark.parametrize("seed", range(10))
def test_random_kernels_are_in_order(seed: int, chip: Chip) -> None:
    check(seed, chip)


@pytest.mark.slow
@CHIPS
@pytest.mark.parametrize("seed", range(10, 100))
def test_many_random_kernels_are_in_order(seed: int, chip: Chip) -> None:
    check(seed, chip)


# ---- what cannot be followed ------------------------------------------------------------------------------------------

BUFFER = "memref<8x16xf32, #npu.mem<ub>>"


def kernel(arguments: str, *lines: str) -> ModuleOp:
    head = [f'builtin.module attributes {{ge.target = "{UNIFIED.target}"}} {{', f"func.func private @kernel({arguments}) {{"]
    return parsed("\n".join([*head, f'%a = buf.at "a" [0] : {BUFFER}', *lines, "func.return", "}", "}"]))


def remarks_of(pass_: ModulePass, module: ModuleOp) -> list[str]:
    with collect_remarks() as remarks:
        run(module, pass_)
    return [f"{remark.pass_name} {remark.op_name} {remark.code}" for remark in remarks]


ABS = f"npu.vabs ins(%a : {BUFFER}) outs(%a : {BUFFER})"


def test_a_kernel_ordered_by_barriers_says_why() -> None:
    branch = kernel("%c: i1", "scf.if %c {", ABS, "}")
    assert remarks_of(InsertSyncPass("flags"), branch) == ["insert-sync scf.if no-loop"]
    loop = [f"%m = scf.for %i = %n to %n step %n iter_args(%b = %a) -> ({BUFFER}) {{", ABS.replace("%a", "%b"), f"scf.yield %b : {BUFFER}"]
    assert remarks_of(InsertSyncPass("flags"), kernel("%n: index", *loop, "}")) == ["insert-sync npu.vabs unknown-memory"]


def test_a_kernel_that_keeps_its_flags_says_why() -> None:
    flags = ["npu.set_flag <mte2>, <v>[%n]", "npu.wait_flag <mte2>, <v>[%n]"]
    assert remarks_of(RemoveRedundantSyncPass(), kernel("%n: index", *flags)) == ["remove-redundant-sync npu.set_flag unknown-number"]
    loops = [line for _ in range(5) for line in ("scf.for %i = %n to %n step %n {", ABS, "}")]
    assert remarks_of(RemoveRedundantSyncPass(), kernel("%n: index", *loops)) == ["remove-redundant-sync scf.for unknown-lengths"]
    assert remarks_of(RemoveRedundantSyncPass(), kernel("", ABS, ABS)) == ["remove-redundant-sync func.func not-in-order"]
    assert remarks_of(RemoveRedundantSyncPass(), kernel("", ABS, "npu.pipe_barrier <v>", ABS)) == []


def test_an_event_that_becomes_a_barrier_says_why() -> None:
    flags = [f'npu.{what}_flag <mte2>, <v>[{n}] event "{name}"' for what in ("set", "wait") for name, n in (("a", 7), ("b", 0))]
    number = ["%c2 = arith.constant 2 : index", "%s = arith.remui %n, %c2 : index"]
    unknown = [f'npu.{what}_flag <v>, <mte2>[%s] event "c"' for what in ("set", "wait")]
    assert remarks_of(AllocateEventsPass(), kernel("%n: index", *number, *flags, *unknown)) == ["allocate-events npu.wait_flag barrier"]
