"""The schedule of a kernel: what decides its loops and how they are pipelined, as an attribute that a user may write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerAttr,
    i64,
)
from xdsl.ir import Operation, ParametrizedAttribute
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

SCHEDULE_KEYS: dict[str, str] = {
    "m": "rows of a tile",
    "n": "columns of a tile",
    "k": "elements of the contraction that are in L1 at once",
    "k0": "elements of the contraction that one cube instruction sums",
    "l1": "slots of each tile that is loaded into L1",
    "l0": "slots of each tile that is moved to L0A or L0B",
    "ub": "slots of each tile that is brought into the unified buffer, or stored from it",
    "splits": "parts of the contraction that are summed apart and added up by a second grid, at most 16",
    "skew": "trips of the loop over k by which loads run ahead of the products, 0 or 1",
}
"""What a schedule decides; a vector kernel has no contraction and so only `m`, `n` and `ub`."""

SIZE_KEYS = ("m", "n", "k", "k0")
SLOT_KEYS = ("l1", "l0", "ub")
LEAST = {"skew": 0}
"""The smallest value of each key, where it is not 1."""
MOST = {"skew": 1, "splits": 16}
"""The largest value of each key that has one."""

_LARGEST = 2**31 - 1

SCHEDULE_ATTRIBUTE = "schedule"


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """`#tile.schedule<m = 32, n = 128, k = 256, k0 = 64, l1 = 2>`: how a kernel is tiled and pipelined.

    Keys left out are chosen by `select-schedule`.
    """

    name: ClassVar[str] = "tile.schedule"

    entries: DictionaryAttr

    @staticmethod
    def of(values: Mapping[str, int]) -> ScheduleAttr:
        ordered = {key: IntegerAttr(values[key], i64) for key in SCHEDULE_KEYS if key in values}
        return ScheduleAttr(DictionaryAttr(ordered))

    def values(self) -> dict[str, int]:
        """The values that are set, in the order of `SCHEDULE_KEYS`."""
        given = {key: value.value.data for key, value in self.entries.data.items() if isinstance(value, IntegerAttr)}
        return {key: given[key] for key in SCHEDULE_KEYS if key in given}

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[DictionaryAttr]:
        def entry() -> tuple[str, int]:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in SCHEDULE_KEYS:
                parser.raise_error(f"'{key}' is not a key of a schedule; keys: {', '.join(SCHEDULE_KEYS)}", position, parser.pos)
            parser.parse_punctuation("=")
            return key, parser.parse_integer(allow_boolean=False, allow_negative=False)

        entries: dict[str, int] = {}
        for key, value in parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry):
            if key in entries:
                parser.raise_error(f"'{key}' is given twice")
            entries[key] = value
        return (cls.of(entries).entries,)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{key} = {value}" for key, value in self.values().items()))

    def verify(self) -> None:
        for key, value in self.entries.data.items():
            if key not in SCHEDULE_KEYS or not isinstance(value, IntegerAttr):
                raise VerifyException(f"a schedule maps {', '.join(SCHEDULE_KEYS)} to integers, got {key} = {value}")
            if not in_range(key, value.value.data):
                raise VerifyException(f"{key} of a schedule must be {expected_of(key)}, got {value.value.data}")


def in_range(key: str, value: int) -> bool:
    """Whether a key of a schedule may have `value`."""
    return LEAST.get(key, 1) <= value <= MOST.get(key, _LARGEST)


def expected_of(key: str) -> str:
    """What values a key may have, in words."""
    if key not in MOST:
        return "a positive integer below 2^31"
    least, most = LEAST.get(key, 1), MOST[key]
    return f"{least} or {most}" if most == least + 1 else f"{least} to {most}"


def schedule_of(kernel: Operation) -> ScheduleAttr | None:
    """The schedule of a kernel function, if it has one."""
    attribute = kernel.attributes.get(SCHEDULE_ATTRIBUTE)
    return attribute if isinstance(attribute, ScheduleAttr) else None
