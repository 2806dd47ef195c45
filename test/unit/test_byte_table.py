"""Byte tables, and the change of a schedule that they advise."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, f32

from ge_compiler.dialects.memory import Space
from ge_compiler.transforms.planning.byte_table import Row, byte_table, smallest_fix

SCHEDULE = {"m": 64, "n": 256, "k": 512, "k0": 256}


def test_a_table_is_sorted_and_adds_up() -> None:
    rows = [Row("row", Space.UB, (1, 100), f32, "7"), Row("tile", Space.UB, (64, 100), f16, "5-9"), Row("other", Space.UB, (64, 100), f16)]
    assert byte_table(rows, 4096).splitlines() == [
        "  other  64x100xf16  14336",
        "  tile   64x100xf16  14336  lines 5-9",
        "  row    1x100xf32     416  lines 7",
        "  total              29088",
        "  limit               4096",
    ]


def test_bytes_count_the_padding_of_rows_and_of_fractals() -> None:
    assert Row("row", Space.UB, (2, 9), f16).bytes == 2 * 32
    assert Row("l1", Space.L1, (1, 17), f16).bytes == 16 * 32 * 2
    assert Row("acc", Space.L0C, (17, 1), f32).bytes == 32 * 16 * 4
    assert Row("hbm", Space.GM, (3, 5, 7), f32).bytes == 3 * 5 * 7 * 4


def test_k0_gives_way_to_the_largest_divisor_of_k_that_fits() -> None:
    rows = [Row("b0", Space.L0B, (256, 256), f16)]
    assert smallest_fix(rows, 65536, SCHEDULE) == "lower k0 to 128 (needs 65536 bytes of l0b)"
    # k0 = 240 would fit too, but does not divide k: n comes closer than k0 = 128.
    assert smallest_fix(rows, 131071, SCHEDULE) == "lower n to 240 (needs 122880 bytes of l0b)"


def test_k_stays_a_multiple_of_k0() -> None:
    rows = [Row("a", Space.L1, (64, 1024), f16), Row("b", Space.L1, (1024, 256), f16)]
    schedule = {**SCHEDULE, "k": 1024}
    # 64·1024 + 1024·256 elements of two bytes are 655360 bytes; k = 768 needs three quarters of them.
    assert smallest_fix(rows, 655359, schedule) == "lower k to 768 (needs 491520 bytes of l1)"


def test_the_key_that_gives_way_least_is_advised() -> None:
    rows = [Row("x", Space.UB, (64, 256), f32), Row("row", Space.UB, (1, 256), f32)]
    capacity = 60 * 1024
    assert smallest_fix(rows, capacity, SCHEDULE) == "lower n to 224 (needs 58240 bytes of ub)"
    assert smallest_fix(rows, capacity, {"m": 64}) == "lower m to 48 (needs 50176 bytes of ub)"


def test_no_advice_is_better_than_a_wrong_one() -> None:
    assert smallest_fix([Row("x", Space.UB, (64, 256), f32)], 100, SCHEDULE) is None
    assert smallest_fix([Row("x", Space.UB, (64, 256), f32)], 100, {}) is None
    assert smallest_fix([Row("x", Space.GM, (64, 256), f32)], 100, SCHEDULE) is None
