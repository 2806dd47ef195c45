"""Instructions that order pipes, and the indices of cores and lanes.

A *pipe* is a unit of one core kind. Pipes run at the same time; each starts its own instructions in order. Within a core an *event* orders
two pipes: `set_flag` runs on the first when everything before it there is complete, `wait_flag` holds the second until then. An event is
set once before it is waited for once. Between the cube and the vector lanes of a cluster a *cross-core flag* counts: a set by the cube
gives one token to every lane, a wait of the cube takes one from every lane.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IndexType, ModuleOp, StringAttr, i64
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.index_list import DYNAMIC, join_index_list, split_index_list, verify_index_list
from ge_compiler.dialects.target import NpuTarget, Unit, target_of

ALL_PIPES = "all"


@irdl_attr_definition
class PipeAttr(ParametrizedAttribute):
    """`<mte2>`, `<aiv.mte2>`, `<all>` or `<aiv.all>`: a pipe of the target, or all of a core kind."""

    name = "npu.pipe"

    pipe: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[StringAttr]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_identifier()),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.pipe.data}>")


class SyncOp(IRDLOperation):
    """An op that orders pipes of the target."""

    def target(self) -> NpuTarget | None:
        """The target of the module that the op is in."""
        root = self.get_toplevel_object()
        return target_of(root) if isinstance(root, ModuleOp) else None

    def unit_named(self, pipe: PipeAttr) -> Unit | None:
        """The unit of a pipe; `None` while the op is in no module. Raises `VerifyException` if the target does not have it."""
        target = self.target()
        if target is None:
            return None
        pipes = target.units
        if pipe.pipe.data not in pipes:
            raise VerifyException(f"{target.name} has no pipe <{pipe.pipe.data}>; its pipes: {', '.join(pipes)}")
        return pipes[pipe.pipe.data]


@irdl_op_definition
class PipeBarrierOp(SyncOp):
    """Everything issued before on the pipe (or on all pipes of the core) completes before anything after it starts."""

    name = "npu.pipe_barrier"

    pipe = prop_def(PipeAttr)

    assembly_format = "$pipe attr-dict"

    def __init__(self, pipe: str = ALL_PIPES):
        super().__init__(properties={"pipe": PipeAttr(StringAttr(pipe))})

    def verify_(self) -> None:
        target = self.target()
        if target is None or self.pipe.pipe.data in target.barriers:
            return
        raise VerifyException(f"{target.name} has no pipe <{self.pipe.pipe.data}>; its pipes: {', '.join(target.barriers)}")


class _NumberedOp(SyncOp):
    """A flag op: its number is a constant or an index value, in brackets."""

    number = var_operand_def(IndexType)
    static_number = prop_def(DenseArrayBase.constr(i64))

    custom_directives = (DynamicIndexList,)

    @property
    def mixed_number(self) -> SSAValue | int:
        """The number of the flag."""
        return join_index_list(self.number, self.static_number)[0]

    def verify_number(self, limit: int | None) -> None:
        verify_index_list("number", self.number, self.static_number, 1)
        value = self.static_number.get_values()[0]
        if limit is not None and value != DYNAMIC and value >= limit:
            raise VerifyException(f"number {value} is beyond the target's {limit} (0 to {limit - 1})")


class FlagOp(_NumberedOp):
    """Orders two pipes of one core by an event.

    Until `allocate-events` gives out numbers, `event` names the event and the number in brackets is its slot.
    """

    source = prop_def(PipeAttr)
    destination = prop_def(PipeAttr)
    event = opt_prop_def(StringAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `,` $destination `` custom<DynamicIndexList>($number, $static_number) (`event` $event^)? attr-dict"

    def __init__(self, source: str, destination: str, number: SSAValue | int, event: str | None = None):
        dynamic, static = split_index_list([number])
        properties = {"source": PipeAttr(StringAttr(source)), "destination": PipeAttr(StringAttr(destination)), "static_number": static}
        super().__init__(operands=[dynamic], properties=properties | ({} if event is None else {"event": StringAttr(event)}))

    def verify_(self) -> None:
        source, destination, target = self.unit_named(self.source), self.unit_named(self.destination), self.target()
        if self.source == self.destination:
            raise VerifyException(f"is between <{self.source.pipe.data}> and itself; use npu.pipe_barrier")
        if source is not None and destination is not None and source.core != destination.core:
            raise VerifyException(f"is between pipes of two core kinds, <{source}> and <{destination}>; use a cross-core flag")
        self.verify_number(None if target is None or self.event is not None else target.event_ids)


@irdl_op_definition
class SetFlagOp(FlagOp):
    """Runs on the source pipe: the event is set when everything before it there is complete."""

    name = "npu.set_flag"


@irdl_op_definition
class WaitFlagOp(FlagOp):
    """Runs on the destination pipe: holds it until the event is set, and clears the event."""

    name = "npu.wait_flag"


class CrossCoreFlagOp(_NumberedOp):
    """Orders a pipe of the cube and a pipe of the vector lanes of one cluster; `event` is a name as for flags of one core."""

    pipe = prop_def(PipeAttr)
    event = opt_prop_def(StringAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$pipe `` custom<DynamicIndexList>($number, $static_number) (`event` $event^)? attr-dict"

    def __init__(self, pipe: str, number: SSAValue | int, event: str | None = None):
        dynamic, static = split_index_list([number])
        properties = {"pipe": PipeAttr(StringAttr(pipe)), "static_number": static}
        super().__init__(operands=[dynamic], properties=properties | ({} if event is None else {"event": StringAttr(event)}))

    def verify_(self) -> None:
        self.unit_named(self.pipe)
        target = self.target()
        if target is not None and not target.is_split:
            raise VerifyException(f"needs a cube and vector lanes on cores of their own, but {target.name} has them on one")
        self.verify_number(None if target is None or self.event is not None else target.cross_core_ids)


@irdl_op_definition
class CrossCoreSetFlagOp(CrossCoreFlagOp):
    """Runs on a pipe: when everything before it there is complete, gives a token to the other core kind (from the cube, to every lane)."""

    name = "npu.cross_core_set_flag"


@irdl_op_definition
class CrossCoreWaitFlagOp(CrossCoreFlagOp):
    """Runs on a pipe: holds it until the other core kind has given a token (to the cube, until every lane has), and takes it."""

    name = "npu.cross_core_wait_flag"


@irdl_op_definition
class SyncAllOp(SyncOp):
    """A barrier of all pipes of all cores: whatever any of them did before is visible to all after it."""

    name = "npu.sync_all"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


class _IndexOp(IRDLOperation):
    result = result_def(IndexType)

    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class BlockIdxOp(_IndexOp):
    """The number of the cluster (on a unified chip, of the core) that runs this."""

    name = "npu.block_idx"


@irdl_op_definition
class SubBlockIdxOp(_IndexOp):
    """The number of the vector lane that runs this: only instructions of vector pipes may depend on it."""

    name = "npu.sub_block_idx"
