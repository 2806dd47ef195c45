"""Programs at fault, and those that cannot be lifted: the checked executor runs them, with its report, and the reason is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.accuracy import identical
from ge_compiler.runtime.execute import Statistics, execute
from ge_compiler.runtime.lifted import Lifted

Array = np.ndarray[Any, Any]
TILE = "memref<4x8xf32, #npu.mem<ub>>"
ROWS = "memref<4x8xf32, strided<[8, 1], offset: ?>>"


def module(body: str, rows: int = 16, blocks: int = 4) -> Any:
    """A kernel of `blocks` blocks on %x and %y, of which block %i begins at row %m."""
    x = f"memref<{rows}x8xf32>"
    return parse_module(
        f"""builtin.module attributes {{ge.target = "Ascend910A"}} {{
  func.func private @kernel(%x: {x}, %y: {x}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    tile.grid_loop %t (%i) in ({blocks}) {{
      %m = arith.muli %i, %c4 : index
      %xs = memref.subview %x[%m, 0] [4, 8] [1, 1] : {x} to {ROWS}
      %ys = memref.subview %y[%m, 0] [4, 8] [1, 1] : {x} to {ROWS}
      %a = buf.at "a" [0] : {TILE}
      %b = buf.at "b" [1024] : {TILE}
{body}
    }}
    func.return
  }}
  func.func @main(%x: {x}, %y: {x}) attributes {{results = 1 : i64}} {{
    fused.launch @kernel(%x) into(%y) on aicore {{ops = ["Exp"], op_name = "exp"}} : ({x}) into({x})
    func.return
  }}
}}""",
        "faults.mlir",
    )


LOAD = f"      npu.load <nd> ins(%xs : {ROWS}) outs(%a : {TILE})\n"
EXP = f"      npu.vexp ins(%a : {TILE}) outs(%b : {TILE})\n"
STORE = f"      npu.store ins(%b : {TILE}) outs(%ys : {ROWS})\n"
PART, THREE = "memref<3x8xf32, strided<[8, 1], offset: ?>>", "memref<3x8xf32, strided<[8, 1]>, #npu.mem<ub>>"
STORE_THREE_ROWS = f"""\
      %part = memref.subview %ys[0, 0] [3, 8] [1, 1] : {ROWS} to {PART}
      %three = memref.subview %b[0, 0] [3, 8] [1, 1] : {TILE} to {THREE}
      npu.store ins(%three : {THREE}) outs(%part : {PART})
"""


def x(rows: int = 16) -> Array:
    return np.random.default_rng(0).standard_normal((rows, 8)).astype(np.float32)


def test_a_kernel_without_faults_is_lifted() -> None:
    lifted = Lifted()
    for _ in range(2):
        (y,) = execute(module(LOAD + EXP + STORE), [x()], {}, lifted=lifted, statistics=(counts := Statistics()))
        assert identical(y, np.exp(x()))
        assert (counts.lifted, counts.not_lifted) == ({"kernel": 1}, {})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (EXP + STORE, "which nothing has written"),
        (LOAD + f'      %c = buf.at "c" [32] : {TILE}\n      npu.vdup 0.0 : f32 outs(%c : {TILE})\n' + EXP + STORE, "last written through"),
        (LOAD.replace("%xs", "%far").join([f"      %j = arith.addi %m, %c4 : index\n      %far = memref.subview %x[%j, 0] [4, 8] [1, 1] "
         f": memref<16x8xf32> to {ROWS}\n", EXP + STORE]), "out of bounds"),
        (LOAD + EXP, "%y.*which nothing has written"),
        (LOAD + EXP + STORE_THREE_ROWS, "%y.*which nothing has written"),
    ],
    ids=["unwritten", "overwritten", "out of bounds in the last block", "without results", "with a part of the results"],
)  # fmt: skip
def test_faults_are_reported_as_the_checked_executor_does(body: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as checked:
        execute(module(body), [x()], {})
    with pytest.raises(CompileError, match=message) as fast:
        execute(module(body), [x()], {}, lifted=Lifted())
    assert str(fast.value) == str(checked.value)
    assert fast.value.notes == checked.value.notes


def test_a_buffer_beyond_its_memory_is_reported() -> None:
    far = f'      %c = buf.at "c" [33554432] : {TILE}\n      npu.vdup 0.0 : f32 outs(%c : {TILE})\n'
    with pytest.raises(CompileError, match="of ub, which has"):
        execute(module(LOAD + far + EXP + STORE), [x()], {}, lifted=Lifted())


def test_what_a_block_left_on_chip_for_the_next_is_not_lifted() -> None:
    """Block 32 runs on the core of block 0 and reads what that one wrote."""
    write = f"      %first = arith.cmpi eq, %t, %c0 : index\n      scf.if %first {{\n{LOAD}      }}\n"
    program = module(write + EXP + STORE, rows=256, blocks=64)
    expected = execute(program, [x(256)], {})
    lifted = Lifted()
    for _ in range(2):
        results = execute(program, [x(256)], {}, lifted=lifted, statistics=(counts := Statistics()))
        assert identical(results[0], expected[0])
        assert counts.lifted == {}
        assert 'nothing in the same block has written to "a"' in counts.not_lifted["kernel"]
        assert counts.launches == {"kernel": 1}


def test_blocks_that_write_the_same_rows_are_not_lifted() -> None:
    body = LOAD + EXP + "      %same = memref.subview %y[0, 0] [4, 8] [1, 1] : memref<16x8xf32> to memref<4x8xf32, strided<[8, 1]>>\n"
    body += f"      npu.store ins(%b : {TILE}) outs(%same : memref<4x8xf32, strided<[8, 1]>>)\n"
    with pytest.raises(CompileError, match="which nothing has written"):
        execute(module(body), [x()], {}, lifted=Lifted())  # of the result
    whole = module(body + STORE)
    expected = execute(whole, [x()], {})
    results = execute(whole, [x()], {}, lifted=Lifted(), statistics=(counts := Statistics()))
    assert identical(results[0], expected[0])
    assert "other blocks write" in counts.not_lifted["kernel"]


def test_what_no_launch_has_written_is_not_read() -> None:
    """The second launch reads a buffer that the first one should have filled."""
    text = str(module(LOAD + EXP + STORE))
    launch = next(line for line in text.splitlines() if "fused.launch" in line)
    type_ = "memref<16x8xf32>"
    buffer = f'    %h = buf.at "h" [0] : {type_}\n'
    second = buffer + launch.replace("(%x)", "(%h)")
    whole = parse_module(text.replace(launch, buffer + launch.replace("(%y)", "(%h)") + "\n" + launch.replace("(%x)", "(%h)")), "two.mlir")
    (y,) = execute(whole, [x()], {}, lifted=Lifted(), statistics=(counts := Statistics()))
    assert identical(y, np.exp(np.exp(x())))
    assert counts.lifted == {"kernel": 2}
    lifted = Lifted()
    for way in (None, lifted, lifted):
        with pytest.raises(CompileError, match='"h", which nothing has written'):
            execute(parse_module(text.replace(launch, second), "one.mlir"), [x()], {}, lifted=way)


@pytest.mark.parametrize(("read", "is_faulty"), [("%h", False), ("%g", True)])
def test_results_that_share_memory_are_not_lifted(read: str, is_faulty: bool) -> None:
    """Block by block, what the kernel writes to %h lies over what the block before wrote to %g."""
    type_ = "memref<16x8xf32>"
    text = str(module(LOAD + EXP + STORE))
    kernel = text[text.index("  func.func private") : text.index("  func.func @main")]
    two = kernel.replace("@kernel", "@two").replace(f"%y: {type_})", f"%y: {type_}, %z: {type_})")
    store = next(line for line in two.splitlines() if "npu.store" in line)
    view = next(line for line in two.splitlines() if "%ys =" in line)
    two = two.replace(store, "\n".join([store, view.replace("%ys", "%zs").replace("%y[", "%z["), store.replace("%ys", "%zs")]))
    launch = next(line for line in text.splitlines() if "fused.launch" in line)
    both = launch.replace("@kernel", "@two").replace("into(%y)", "into(%h, %g)").replace(f"into({type_})", f"into({type_}, {type_})")
    buffers = f'    %h = buf.at "h" [0] : {type_}\n    %g = buf.at "g" [128] : {type_}\n'
    main = text.replace(launch, buffers + both + "\n" + launch.replace("(%x)", f"({read})"))
    program = parse_module(main.replace("  func.func @main", two + "  func.func @main"), "two.mlir")
    if is_faulty:
        for lifted in (None, Lifted()):
            with pytest.raises(CompileError, match='last written through buffer "h"'):
                execute(program, [x()], {}, lifted=lifted)
        return
    (expected,) = execute(program, [x()], {})
    (y,) = execute(program, [x()], {}, lifted=Lifted(), statistics=(counts := Statistics()))
    assert identical(y, expected)
    assert counts.not_lifted == {"two": "arguments #1 and #2 share memory that the kernel changes"}


def test_branches_and_trips_that_depend_on_the_block() -> None:
    body = f"""{LOAD}      %odd = arith.remui %i, %c2 : index
      %is_odd = arith.cmpi eq, %odd, %c1 : index
      scf.if %is_odd {{
        npu.vmuls ins(%a : {TILE}) outs(%a : {TILE}) {{scalar = 3.0 : f32}}
      }}
      scf.for %k = %c0 to %i step %c1 {{
        npu.vadds ins(%a : {TILE}) outs(%a : {TILE}) {{scalar = 1.0 : f32}}
      }}
{EXP}{STORE}"""
    program = module(body, rows=64, blocks=16)
    checked = Statistics()
    expected = execute(program, [x(64)], {}, statistics=checked)
    for way in ({}, {"width": 1}, {"workers": 2}):
        results = execute(program, [x(64)], {}, lifted=Lifted(**way), statistics=(counts := Statistics()))
        assert identical(results[0], expected[0])
        assert counts.lifted == {"kernel": 1}
        assert counts.instructions == checked.instructions
