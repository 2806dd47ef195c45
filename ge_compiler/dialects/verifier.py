"""What every module must satisfy, whatever its level: each op's own verifier, known attributes, values defined before they are used."""

from __future__ import annotations

from collections.abc import Set
from typing import NoReturn

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.dominance import DominanceInfo
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError, Note, did_you_mean
from ge_compiler.dialects.states import UPDATED_BY
from ge_compiler.dialects.symbols import symbols_unchanged


def verify_module(module: ModuleOp) -> None:
    """Raises `CompileError`, located, at the first op that breaks a rule."""
    _check_symbols(module)
    for op in module.walk():
        _check_attributes(op)  # first: a misspelt attribute is why other rules fail
    try:
        with symbols_unchanged(module):
            module.verify()
    except CompileError:
        raise
    except Exception as error:
        _raise_at_culprit(module, error)
    for function in module.body.ops:
        if isinstance(function, FuncOp):
            _check_states(function)
    for region in module.regions:
        _check_region(region, set())


def _raise_at_culprit(module: ModuleOp, error: Exception) -> NoReturn:
    """
    xDSL's checks of blocks and terminators do not say which op they are about: look for it.

    A verifier may also stumble over an invalid op around its own, or one that it names: neither is verified before it.
    """
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as found:
            raise CompileError.at(op, str(found).removeprefix(f"Operation {op.name} ")) from error
        except CompileError:
            raise
        except Exception:
            continue  # stumbles as well
        if any(not block.ops for region in op.regions for block in region.blocks) and op.name in str(error):
            raise CompileError.at(op, "has an empty block where a terminator is expected") from error
    if not isinstance(error, VerifyException):
        raise error
    raise CompileError.at(module, str(error)) from error


def _check_symbols(module: ModuleOp) -> None:
    """Weights, kernels and other functions share their names."""
    seen: dict[Attribute, Operation] = {}
    for op in module.body.ops:
        name = op.properties.get("sym_name")
        if name is not None and name in seen:
            raise CompileError.at(op, f"defines the symbol {name} a second time", Note("defined here first", seen[name].location))
        if name is not None:
            seen[name] = op


def _check_attributes(op: Operation) -> None:
    """A misspelt attribute of our ops must not be carried along in silence; others are theirs by a prefix, `dialect.name`."""
    if not op.attributes or op.dialect_name() not in LEVELS or not isinstance(op, IRDLOperation):
        return
    definition = op.get_irdl_definition()
    known = {**definition.properties, **definition.attributes}
    for name in op.attributes:
        if "." not in name and name not in known:
            raise CompileError.at(op, f"has no attribute '{name}'{did_you_mean(name, known)}")


def _check_region(region: Region, outside: Set[SSAValue]) -> None:
    blocks = tuple(region.blocks)
    if len(blocks) == 1:
        _check_block(blocks[0], set(outside))
        return
    dominance = DominanceInfo(region)
    for block in blocks:
        above = (other for other in blocks if dominance.strictly_dominates(other, block))
        _check_block(block, {*outside, *(value for other in above for value in _defined_in(other))})


def _defined_in(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block.ops for result in op.results)]


def _check_block(block: Block, available: set[SSAValue]) -> None:
    available.update(block.args)
    for op in block.ops:
        if twice := op.properties.keys() & op.attributes.keys():
            raise CompileError.at(op, f"has '{min(twice)}' both as a property and as an attribute")
        for index, operand in enumerate(op.operands):
            if operand not in available:
                raise _not_available(op, index, operand)
        for region in op.regions:
            _check_region(region, available)
        available.update(op.results)


def _not_available(op: Operation, index: int, operand: SSAValue) -> CompileError:
    name = f" (%{operand.name_hint})" if operand.name_hint else ""
    owner = operand.owner
    home = owner if isinstance(owner, Block) else owner.parent
    definition = owner.parent_op() if isinstance(owner, Block) else owner
    encloses = home is not None and home.find_ancestor_op_in_block(op) is not None
    what = "is used before it is defined" if encloses else "is defined in a region that does not enclose this use"
    notes = () if definition is None else (Note("defined here", definition.location),)
    return CompileError.at(op, f"operand #{index}{name} {what}", *notes)


def _check_states(function: FuncOp) -> None:
    """An argument that says which result is its new contents has that result's type, which only one argument takes."""
    if function.arg_attrs is None or not function.function_type.outputs.data:
        return
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    taken: dict[int, int] = {}
    for i, (attributes, type_) in enumerate(zip(function.arg_attrs.data, inputs, strict=True)):
        number = attributes.data.get(UPDATED_BY)
        if number is None:
            continue
        if not isinstance(number, IntegerAttr) or not 0 <= number.value.data < len(outputs):
            raise CompileError.at(function, f"argument #{i} has {UPDATED_BY} = {number}, but results are numbered 0 to {len(outputs) - 1}")
        result = number.value.data
        if outputs[result] != type_:
            raise CompileError.at(function, f"argument #{i} is {type_}, but result #{result}, its new contents, is {outputs[result]}")
        if result in taken:
            raise CompileError.at(function, f"result #{result} is the new contents of both argument #{taken[result]} and argument #{i}")
        taken[result] = i
