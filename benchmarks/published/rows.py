"""What stands behind each published timing: the program, what the row leaves open, and which constants rest on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from published import programs
from published.attention import attention
from published.programs import Tiles, task_time, time_kernel

from ge_compiler.dialects.instruction_costs import timing_of
from ge_compiler.dialects.target import NpuTarget

Model = Callable[[NpuTarget], float]

GEMM = "hw-native-sys/pto-isa:kernels/manual/a2a3/gemm_performance/README.md"
FLASH = "hw-native-sys/pto-isa:README.md"
EAGER = "hw-native-sys/pto-isa:demos/torch_jit/flash_atten/README.md"
MATMUL = "CANN asc-devkit: matmul best-practice README_en (path not known)"
DATA_COPY = "CANN asc-devkit: data_copy best-practice README_en (path not known)"
ADD = "CANN asc-devkit: add_high_performance README_en (path not known)"
SLICE = "hicann/cann-learning-hub:skills/examples/as_strided/docs/perf/round_001"
UNIT = "hw-native-sys/pto-isa:tests/costmodel/st/testcase/*/main.cpp"
TITLES = {
    GEMM: "pto-isa gemm",
    FLASH: "pto-isa flash attention",
    EAGER: "pto-isa torch_jit",
    MATMUL: "asc-devkit matmul",
    DATA_COPY: "asc-devkit data_copy",
    ADD: "asc-devkit add",
    SLICE: "as_strided",
    UNIT: "pto-isa unit tests",
}


@dataclass(frozen=True)
class Case:
    """How a row is modelled, in the row's unit."""

    target: str
    model: Model
    assumed: str = ""
    """What the row does not state."""
    fixes: str = ""
    """The constants that it alone determines, or determines together with rows that are marked as well: such a row predicts nothing."""
    reason: str = ""
    """Why the model is far off."""


B1, B2, B3, PR = "Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend950PR"

# ---- products ---------------------------------------------------------------------------------------------------------


def _product(size: int, grid: tuple[int, int], tiles: Tiles) -> Model:
    return lambda target: task_time(time_kernel(programs.product(size, size, size, grid, tiles), target))


def _on_one_core(tiles: Tiles) -> Model:
    return lambda target: _product(8192, (1, 1), tiles)(programs.single(target))


STEP4 = Tiles(128, 256, 256, 64, 2)
_SLICES = "cores have slices of {}; two slots; time is that of the task"
PRODUCTS = {
    ("gemm", "3072x3072x3072 base128x256x64 step4", "910B1(A3,24AIC)"): Case(
        B1, _product(3072, (4, 6), STEP4), _SLICES.format("768 x 512")
    ),
    ("gemm", "6144x6144x6144 base128x256x64 step4", "910B1(A3,24AIC)"): Case(
        B1, _product(6144, (4, 6), STEP4), _SLICES.format("1536 x 1024")
    ),
    ("matmul", "8192x8192x8192 case0", "910B1"): Case(
        B1,
        _on_one_core(Tiles(64, 64, 64, 64, 1)),
        "second operand with rows along k; one slot of everything; result in f32",
        "moves.gm_l1 row and latency, together with case 1",
    ),
    ("matmul", "8192x8192x8192 case1", "910B1"): Case(
        B1,
        _on_one_core(Tiles(128, 256, 64, 64, 1)),
        "second operand with rows along k; one slot of everything; result in f32",
        "moves.gm_l1 row and latency, together with case 0; cube.fill",
    ),
    ("matmul", "8192x8192x8192 case8", "910B1"): Case(
        B1,
        _product(8192, (4, 6), STEP4),
        "base 128x256x64, step 4, two slots; slices of 2048 x 1536, the last ones 512 wide; result in f32",
    ),
    ("matmul", "8192x8192x8192 case1", "950PR(32AIC,1.65GHz)"): Case(
        PR, _on_one_core(Tiles(128, 256, 64, 64, 1)), "tiles as on the 910B1", "moves.gm_l1 row of the 950PR"
    ),
    ("matmul", "8192x8192x8192 case8", "950PR(32AIC,1.65GHz)"): Case(
        PR,
        _product(8192, (4, 8), Tiles(128, 256, 256, 64, 2, 2)),
        "tiles as on the 910B1, two accumulators, which fit; slices of 2048 x 1024",
    ),
}

# ---- copies -----------------------------------------------------------------------------------------------------------


def _copy(rows: int, columns: int, space: str, width: int = 12288) -> Model:
    return lambda target: time_kernel(programs.copies(12288, width, rows, columns, space, target.cores), target).microseconds


def _again(parts: int, columns: int, space: str) -> Model:
    return lambda target: programs.repeated_copies(target, parts, 4, columns, space)


_COPY, _REUSE, _UB, _L1 = "datacopy_302MB", "datacopy_L2reuse_1208MB", "A2 48AIV", "A2 24AIC"
_PASSES = "tiles of [64,{}]; each pass is a kernel, what fits L2 is there in the next"
_LINES = "tiles of [64,{}]"
COPIES = {
    (_COPY, "12288x12288 GM->UB tile[1,64] 128B/instr", _UB): Case(
        B1, _copy(1, 64, "ub"), "lanes side by side", "moves.gm_ub fixed, as of all moves"
    ),
    (_COPY, "12288x12288 GM->UB tile[64,64] 8KB/instr", _UB): Case(B1, _copy(64, 64, "ub"), "lanes side by side"),
    (_COPY, "12288x12288 GM->UB tile[64,1024] 128KB/instr", _UB): Case(B1, _copy(64, 1024, "ub"), "lanes side by side"),
    (_COPY, "12288x12288 GM->UB unaligned N=12287", _UB): Case(B1, _copy(64, 1024, "ub", 12287), _LINES.format(1024)),
    (_COPY, "12288x12288 GM->L1 nd2nz tile[64,64]", _L1): Case(B1, _copy(64, 64, "l1")),
    (_COPY, "12288x12288 GM->L1 nd2nz tile[64,256]", _L1): Case(B1, _copy(64, 256, "l1")),
    (_COPY, "12288x12288 GM->L1 nd2nz unaligned N=12287", _L1): Case(B1, _copy(64, 256, "l1", 12287), _LINES.format(256)),
    (_REUSE, "12288x12288 GM->UB full x4 (no reuse)", _UB): Case(B1, _again(1, 512, "ub"), _PASSES.format(512)),
    (_REUSE, "12288x12288 GM->UB N/4 slices x4", _UB): Case(B1, _again(4, 512, "ub"), _PASSES.format(512)),
    (_REUSE, "12288x12288 GM->L1 full x4", _L1): Case(B1, _again(1, 256, "l1"), _PASSES.format(256)),
    (_REUSE, "12288x12288 GM->L1 N/4 slices x4", _L1): Case(B1, _again(4, 256, "l1"), _PASSES.format(256)),
}

# ---- sums, attention, launches ----------------------------------------------------------------------------------------

_FLAT = "f32 of the same bytes; time is that of the task"
AHEAD = 3
OTHERS = {
    ("add", "8192x8192 case1", "910B1 A2"): Case(
        B1, lambda t: task_time(programs.sum_time(programs.single(t), 1)), _FLAT, "moves.gm_ub latency, moves.ub_gm rate"
    ),
    ("add", "8192x8192 case2", "910B1 A2"): Case(
        B1,
        lambda t: task_time(programs.sum_time(t, 1)),
        _FLAT,
        reason="in the model all cores load at the same time and share HBM; on the chip they drift apart, so that loads without double "
        "buffering find it free (2.2 TB/s while they last)",
    ),
    ("add", "8192x8192 case4", "910B1 A2"): Case(B1, lambda t: task_time(programs.sum_time(t, 2)), _FLAT, "hbm.mixed"),
    ("add", "8192x8192 case6", "910B1 A2"): Case(
        B1, lambda t: programs.sum_past_l2(t, 2), f"{_FLAT}; cumulative cases: loads go past L2, which then holds all that is written"
    ),
    ("flash_attn(PTO manual)", "b1 h1 S0=S1=16384 D=128 noncausal", "910B2"): Case(
        B2,
        lambda t: task_time(time_kernel(attention(16384, AHEAD, t.cores), t)),
        "128 queries and 256 keys at a time, with the instructions of our compiled attention; three blocks of keys ahead; "
        "lanes with room for 240 KiB",
        "sync.cross_core, and how far the cube is ahead",
    ),
    ("eager_op_floor(torch_npu FA, tiny)", "S0=128 S1=1024", "910B2 aarch64 host"): Case(
        B2, lambda t: float(timing_of(t).value("launch.host", "us")), "the host of the table is the x86 one", "launch.host"
    ),
    ("eager_op_floor(torch_npu FA, tiny)", "S0=128 S1=1024", "910B2 x86 host"): Case(
        B2, lambda t: float(timing_of(t).value("launch.host", "us")), fixes="launch.host"
    ),
    ("strided slice", "in 50000 out 10000", "910B3/4 (40AIV,1.8GHz)"): Case(
        B3,
        lambda t: 10.14 + float(timing_of(t).value("launch.base", "us") + t.cores * timing_of(t).value("launch.block", "us")),
        "the kernel is not known: its time on the cores is the row's, 10.14; B3",
        "launch.block",
    ),
}

# ---- single instructions ----------------------------------------------------------------------------------------------


def _vector(name: str, rows: int, columns: int, operands: int, to: str = "") -> Model:
    return lambda target: programs.vector(target, name, rows, columns, "f32", operands, to)


def _cube(m: int, k: int, n: int, element: str) -> Model:
    return lambda target: programs.cube(target, m, k, n, element)


_HALF = "as many bytes of f32, in which our instructions compute"
_HELD = "for how long the cube is held; filling it is not in the test"
UNITS = {
    ("TADD", "64x64"): Case(B1, _vector("vadd", 64, 64, 2)),
    ("TADD", "16x256"): Case(B1, _vector("vadd", 16, 128, 2), _HALF),
    ("TMUL", "64x64"): Case(B1, _vector("vmul", 64, 64, 2)),
    ("TDIV", "64x64"): Case(B1, _vector("vdiv", 64, 64, 2)),
    ("TSQRT", "64x64"): Case(B1, _vector("vsqrt", 64, 64, 1)),
    ("TEXP", "64x64"): Case(B1, _vector("vexp", 64, 32, 1), _HALF),
    ("TCVT", "4x64"): Case(B1, _vector("vconv", 4, 64, 1, "f16")),
    ("TMATMUL", "40x50x60 (MKN)"): Case(B1, _cube(40, 50, 60, "f16"), _HELD),
    ("TMATMUL", "128x128x64 (M,K,N) acc x5"): Case(B1, _cube(128, 128, 64, "f16"), f"one of the five; {_HELD}"),
    ("TMATMUL", "120x110x50"): Case(B1, _cube(120, 110, 50, "f32"), _HELD),
    ("TMATMUL", "6x7x8"): Case(B1, _cube(6, 7, 8, "i8"), _HELD),
    ("TROWSUM", "64x64"): Case(B1, lambda t: programs.reduction(t, "sum", 64, 64)),
    ("TROWMAX", "64x64"): Case(B1, lambda t: programs.reduction(t, "max", 64, 64)),
    ("TLOAD", "128x128 ND"): Case(B1, lambda t: programs.load(t, 128, 128), "from L2 to the unified buffer; without latency"),
}
_CYCLES = {(op, shape, "A2 (dav-2201)"): case for (op, shape), case in UNITS.items()}
CASES: dict[tuple[str, str, str], Case] = {**PRODUCTS, **COPIES, **OTHERS, **_CYCLES}
"""By the first, second and fourth column of calibration.csv."""


# ---- constants --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """What one source says about a parameter."""

    source: str
    value: float
    how: str


@dataclass(frozen=True)
class Parameter:
    """A number of the 910B's table that rests on rows, with what each source says of it: the table has the first."""

    entries: tuple[tuple[str, str], ...]
    """Constants and units that have this value."""
    evidence: tuple[Evidence, ...]

    @property
    def name(self) -> str:
        return f"{self.entries[0][0]} {self.entries[0][1]}"


def _each(unit: str, *keys: str) -> tuple[tuple[str, str], ...]:
    return tuple((key, unit) for key in keys)


_GLOBAL = ("moves.gm_l1", "moves.gm_ub", "moves.ub_gm")
PARAMETERS = (
    Parameter(_each("fixed", *_GLOBAL), (Evidence(DATA_COPY, 16.7, "20.6 cycles for each load of 128 bytes, of which HBM takes 4"),)),
    Parameter(_each("row", *_GLOBAL), (Evidence(MATMUL, 3.4, "cases 0 and 1: 514 and 1380 cycles for 128 and 384 rows"),)),
    Parameter(
        _each("rate", "moves.gm_l1", "moves.gm_ub"),
        (
            Evidence(MATMUL, 92, "case 8: 2327 cycles for 192 KiB, less what HBM takes of them"),
            Evidence(GEMM, 91.9, "2414 and 2302 cycles for 192 KiB, less what HBM takes of them"),
            Evidence(UNIT, 86, "TLOAD: 776 cycles for 64 KiB"),
        ),
    ),
    Parameter(_each("latency", "moves.gm_l1"), (Evidence(MATMUL, 48, "cases 0 and 1: 81 cycles for each pair of loads"),)),
    Parameter(_each("latency", "moves.gm_ub"), (Evidence(ADD, 490, "case 1: 701 cycles for two loads of 8 KiB"),)),
    Parameter(_each("rate", "moves.ub_gm"), (Evidence(ADD, 29.4, "case 1: 295 cycles for 8 KiB"),)),
    Parameter(_each("rate", "moves.l0c_gm"), (Evidence(GEMM, 72, "1848 and 1799 cycles for 128 KiB"),)),
    Parameter(
        _each("fixed", "moves.l1_l0a", "moves.l1_l0b"),
        (
            Evidence(MATMUL, 23.5, "cases 0 and 1: 143 and 367 cycles a pair"),
            Evidence(GEMM, 46, "412 cycles a pair, with L1 being written at the same time"),
        ),
    ),
    Parameter(
        _each("cycles", "cube.gap"),
        (
            Evidence(UNIT, 6, "54, 262, 902 and 7 cycles for 48, 256, 896 and 1 steps"),
            Evidence(MATMUL, 8.8, "case 8: mac ratio, waits included"),
            Evidence(GEMM, 12.3, "cube ratio, waits included"),
        ),
    ),
    Parameter(_each("cycles", "cube.fill"), (Evidence(MATMUL, 57, "case 1: 575 cycles for 512 steps"),)),
    Parameter(
        _each("gb_s", "hbm.read"),
        (
            Evidence(DATA_COPY, 1450, "1408 by cube cores, 1490 by lanes"),
            Evidence(ADD, 1480, "case 6: 268 MB in 181.4 microseconds without the launch"),
        ),
    ),
    Parameter(_each("gb_s", "hbm.mixed"), (Evidence(ADD, 1607, "case 4, as stated there"),)),
    Parameter(_each("us", "launch.block"), (Evidence(SLICE, 0.11, "2.78 microseconds for 20 clusters, 0.5 of them in any case"),)),
    Parameter(_each("us", "launch.host"), (Evidence(EAGER, 47, "on an x86 host"),)),
    Parameter(_each("cycles", "sync.cross_core"), (Evidence(FLASH, 330, "1000 cycles for a tile that is handed over three times"),)),
)
