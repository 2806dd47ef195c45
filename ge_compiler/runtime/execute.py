"""Runs a module at any level: `@main` on numpy arrays, kernels as they are launched.

Checked execution is the definition of what a program with addresses means: bounds, reads of bytes that nothing has written, and reads of
bytes that another buffer has overwritten are errors with a place. Unchecked execution gives the same values for a program without faults.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.ge.semantics import evaluate
from ge_compiler.dialects.ge.shapes import shape_and_element, show
from ge_compiler.dialects.memory import Space, bytes_of
from ge_compiler.dialects.semantics import Array, dtype_of
from ge_compiler.dialects.states import states
from ge_compiler.dialects.target import target_of
from ge_compiler.dialects.types import buffer_type
from ge_compiler.runtime.border import check_inputs, is_on_memory, main_of
from ge_compiler.runtime.interpreters.buffers import TILE_BUFFERS, arena_bytes, buffer_table
from ge_compiler.runtime.interpreters.control import CONTROL
from ge_compiler.runtime.interpreters.grids import grid_table
from ge_compiler.runtime.interpreters.primitives import PRIMITIVES
from ge_compiler.runtime.interpreters.tensors import TENSORS, TILE_VALUES
from ge_compiler.runtime.lifted import Lifted, NotLifted, launch
from ge_compiler.runtime.machine import Machine
from ge_compiler.runtime.memory import Memory, Region
from ge_compiler.runtime.threads import one_blas_thread
from ge_compiler.runtime.walk import Factory, Frame, Function, Registers, Step, Table, noting


@dataclass
class Statistics:
    """What an execution did."""

    instructions: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    """Function -> instruction name -> how often it ran."""
    launches: Counter[str] = field(default_factory=Counter[str])
    """Kernel -> how often it was launched."""
    lifted: Counter[str] = field(default_factory=Counter[str])
    """Kernel -> how many of its launches ran lifted."""
    not_lifted: dict[str, str] = field(default_factory=dict[str, str])
    """Kernel -> why launches of it ran on the checked executor, though lifted execution was asked for."""

    @property
    def total(self) -> int:
        """All instructions of all kernels."""
        return sum(counts.total() for name, counts in self.instructions.items() if name in self.launches)


Host = Callable[[str, str, Sequence[Array]], Sequence[Array]]
"""Executes an operator that only a host can: its overload, its arguments and its operands -> its results."""


def execute(
    module: ModuleOp,
    inputs: Sequence[Array],
    weights: Mapping[str, Array],
    *,
    check: bool = True,
    statistics: Statistics | None = None,
    block_order: int | None = None,
    host: Host | None = None,
    lifted: Lifted | None = None,
) -> list[Array]:
    """
    The results of `@main` on `inputs`, whose shapes and dtypes are those of its arguments. Inputs are never modified: the new contents of
    states are among the results.

    `weights` maps symbols to arrays. `check` reports faults of programs with addresses. `block_order` seeds a random order of the
    blocks of every grid, which must not change a bit. `statistics` is filled. `host` executes operators that only a host can. With
    `lifted`, kernels at `npu` run many blocks at once, with the same bits; what cannot runs checked, and `statistics` says why. Raises
    `CompileError` where the inputs do not fit the module, the program is at fault, or it needs a host and there is none.
    """
    with one_blas_thread(), np.errstate(all="ignore"), nullcontext() if lifted is None else lifted.lock:
        if lifted is None:
            run = _Run(module, weights, check, block_order, host, None)
            results = run(inputs)
        else:
            run, results = _run_lifted(lifted, module, inputs, weights, host)
        if statistics is not None:
            run.report(statistics)
    owned: list[Array] = []
    for result in results:
        owned.append(_own(result, [*inputs, *weights.values(), *owned]))
    return owned


def _run_lifted(
    lifted: Lifted, module: ModuleOp, inputs: Sequence[Array], weights: Mapping[str, Array], host: Host | None
) -> tuple[_Run, list[Array]]:
    """
    One execution with what was prepared before, and its results.

    The first one keeps a history of memory, by which it is seen that launches read what was written before; if all were lifted, the next
    ones need none.
    """

    program = module, weights, host

    def prepared(check: bool) -> _Run:
        return lifted.prepared((*program, check), lambda: _Run(module, weights, check, None, host, lifted))

    run = prepared(not lifted.is_proven(program))
    try:
        results = run(inputs)
    except NotLifted:
        # Data named a row that there is not: the checked executor, which needs the history, says where.
        run = prepared(True)
        results = run(inputs)
    if run.all_lifted:
        lifted.proven = program
    return run, results


def _own(result: Array, foreign: Sequence[Array]) -> Array:
    """A result that its caller may write to, its elements in order one behind the other."""
    shared = not result.flags.writeable or any(np.may_share_memory(result, array) for array in foreign)
    in_order = result.flags.c_contiguous and min(result.strides, default=0) >= 0
    return result if in_order and not shared else result.copy()


class _Run:
    """Executions of a module: the memories, the weights, and the functions compiled so far."""

    def __init__(
        self, module: ModuleOp, weights: Mapping[str, Array], check: bool, block_order: int | None, host: Host | None, lifted: Lifted | None
    ) -> None:
        self._main, self._weights = main_of(module), weights
        self._is_on_memory = is_on_memory(self._main)
        self._check, self._host, self._lifted = check, host, lifted
        self._machine = Machine(target_of(module), arena_bytes(self._main), check)
        self._random = None if block_order is None else random.Random(block_order)
        self._functions: dict[str, Function] = {}
        self._compiling: set[str] = set()
        self._launches: Counter[str] = Counter()
        self._lifted_launches: Counter[str] = Counter()
        self._lifted_instructions: dict[str, Counter[str]] = {}
        self._not_lifted: dict[str, str] = {}
        self._table: Table = self._all_meanings()

    def _all_meanings(self) -> Table:
        forms: dict[type[Operation], Factory] = {op: _by_form(value, TILE_BUFFERS[op]) for op, value in TILE_VALUES.items()}
        own: dict[type[Operation], Factory] = {
            ge.LoadWeightOp: self._load_weight,
            ge.ConstOp: self._constant,
            ge.AtenFallbackOp: self._fallback,
            fused.LaunchOp: self._launch,
            CallOp: self._call,
        }
        return {
            **CONTROL,
            **TENSORS,
            **PRIMITIVES,
            **buffer_table(self._machine),
            **grid_table(self._machine, self._random),
            **forms,
            **own,
        }

    def __call__(self, inputs: Sequence[Array]) -> list[Array]:
        """The results of `@main` in one execution, which forgets the ones before."""
        arrays = check_inputs(self._main, inputs)
        for counts in (self._launches, self._lifted_launches, self._lifted_instructions, self._not_lifted):
            counts.clear()
        for function in self._functions.values():
            function.forget()
        self._machine.arena.forget()
        return self._on_memory(arrays) if self._is_on_memory else self._function(self._main)(*arrays)

    @property
    def all_lifted(self) -> bool:
        """Whether no launch of the last execution had to run checked."""
        return not self._not_lifted

    def _on_memory(self, inputs: Sequence[Array]) -> list[Array]:
        """What `@main` leaves in its states and in its last arguments, in the order of its results."""
        function, arguments, of_states = self._function(self._main), self._main.body.block.args, states(self._main)
        names = [f"%{a.name_hint}" if a.name_hint else f"argument #{i} of @main" for i, a in enumerate(arguments)]
        regions = [Region(x, name) for x, name in zip(inputs, names, strict=False)]
        for i in of_states:
            regions[i] = self._writable(names[i], arguments[i].type)
            regions[i].write(self._main, inputs[i])
        outputs = [self._writable(name, a.type) for name, a in zip(names[len(inputs) :], arguments[len(inputs) :], strict=True)]
        function(*regions, *outputs)
        updated, made = {number: regions[i] for i, number in of_states.items()}, iter(outputs)
        results = [updated[i] if i in updated else next(made) for i in range(len(outputs) + len(updated))]
        last = self._main.body.block.last_op
        assert last is not None
        return [result.read(last, f"result #{i} of @main") for i, result in enumerate(results)]

    def _writable(self, name: str, type_: Attribute) -> Region:
        memref = buffer_type(type_)
        memory = Memory(Space.GM, bytes_of(memref), self._check)
        return Region.allocate(memory, name, memref.get_shape(), dtype_of(memref.get_element_type()))

    def report(self, statistics: Statistics) -> None:
        statistics.launches.update(self._launches)
        statistics.lifted.update(self._lifted_launches)
        statistics.not_lifted.update(self._not_lifted)
        for name, counts in self._lifted_instructions.items():
            statistics.instructions.setdefault(name, Counter()).update(counts)
        for name, function in self._functions.items():
            if fused.engine_of(function.op) is not fused.Engine.AICORE and function.op is not self._main:
                continue  # operators are no instructions
            statistics.instructions.setdefault(name, Counter()).update(function.executed())

    def _function(self, op: FuncOp) -> Function:
        name = op.sym_name.data
        if name in self._compiling:
            raise CompileError.at(op, f"@{name} executes itself")
        if name not in self._functions:
            self._compiling.add(name)
            has_tiles = op is not self._main and not op.function_type.outputs.data
            self._functions[name] = Function(op, self._table, self._machine.target.vec_per_cube if has_tiles else 1)
            self._compiling.remove(name)
        return self._functions[name]

    def _load_weight(self, op: ge.LoadWeightOp, frame: Frame) -> None:
        name = op.weight.root_reference.data
        if name not in self._weights:
            raise CompileError.at(op, f"weight @{name} is not among the weights given ({', '.join(self._weights) or 'none'})")
        array = self._weights[name]
        shape, element = shape_and_element(op.y.type)
        if array.shape != shape or array.dtype != dtype_of(element):
            raise CompileError.at(op, f"weight @{name} must be {op.y.type}, got {show(array.shape)} of {array.dtype}")
        array = np.ascontiguousarray(array).reshape(shape)
        frame.set_constant(op.y, array if isinstance(op.y.type, TensorType) else Region(array, f"weight @{name}"))

    def _constant(self, op: ge.ConstOp, frame: Frame) -> None:
        array = evaluate(op, [])[0].copy()
        frame.set_constant(op.y, array if isinstance(op.y.type, TensorType) else Region(array, "a constant"))

    def _fallback(self, op: ge.AtenFallbackOp, frame: Frame) -> Step:
        overload, host = op.overload.data, self._host
        arguments = op.arguments.data if isinstance(op.arguments, StringAttr) else "{}"
        if host is None:
            raise CompileError.at(op, f"{overload} runs on the host, but no host executes this program")
        operands, results = frame.slots(op.operands), frame.slots(op.results)
        expected = [(shape, dtype_of(element)) for shape, element in (shape_and_element(y.type) for y in op.results)]

        def step(r: Registers) -> None:
            try:
                values = host(overload, arguments, [np.ascontiguousarray(r[x]).reshape(r[x].shape) for x in operands])
            except CompileError as error:
                raise CompileError.at(op, error.message) from error
            if [(value.shape, value.dtype) for value in values] != expected:
                got = ", ".join(f"{show(value.shape)} of {value.dtype}" for value in values)
                raise CompileError.at(op, f"{overload} gave {got}, but the results are {', '.join(str(y.type) for y in op.results)}")
            for result, value in zip(results, values, strict=True):
                r[result] = value

        return step

    def _launch(self, op: fused.LaunchOp, frame: Frame) -> Step:
        if op.engine.data is not fused.Engine.AICORE and any(isinstance(x.type, MemRefType) for x in op.operands):
            return self._launch_of_operators(op, frame)
        kernel = op.kernel()
        assert kernel is not None, "a launch names a kernel"
        name, function = op.kernel_name, self._callable(op, kernel)
        inputs, destinations, results = frame.slots(op.inputs), frame.slots(op.destinations), frame.slots(op.outputs)
        returns = bool(kernel.function_type.outputs.data)
        copied = [isinstance(d.type, TensorType) and not (isinstance(d.owner, EmptyOp) and d.has_one_use()) for d in op.destinations]
        contiguous = op.engine.data is not fused.Engine.AICORE
        renewed = frame.slots([d for d in op.destinations if isinstance(d.type, MemRefType) and fused.starts_anew(op, d)])

        def step(r: Registers) -> None:
            self._launches[name] += 1
            self._machine.start(0)
            for d in renewed:
                r[d].forget()
            # While values are tensors, what is written over has other users: the launch writes to a copy.
            written = [] if returns else [r[d].copy() if shared else r[d] for d, shared in zip(destinations, copied, strict=True)]
            with noting(op, lambda: f"in this launch of @{name}"):
                returned = function(*[r[x] for x in inputs], *written)
            for result, value in zip(results, returned or written, strict=False):
                # What operators of `ge` give may be a view; in global memory everything lies in one piece.
                r[result] = np.ascontiguousarray(value).reshape(value.shape) if contiguous else value

        return step

    def _callable(self, op: fused.LaunchOp, kernel: FuncOp) -> Callable[..., list[Any]]:
        """What a launch calls: lifted where that is asked for and possible."""
        lifted = self._lifted
        if lifted is None or not any(isinstance(x.type, MemRefType) for x in op.operands):
            return self._function(kernel)
        operands, name = [*op.inputs, *op.destinations], op.kernel_name
        constant = [isinstance(x.owner, ge.LoadWeightOp) for x in operands]

        def call(*regions: Region) -> list[Any]:
            try:
                counts = launch(lifted, kernel, self._machine.target, regions, constant)
            except NotLifted as reason:
                self._not_lifted[name] = str(reason)
                if not self._check:
                    raise
                return self._function(kernel)(*regions)
            self._lifted_launches[name] += 1
            self._lifted_instructions.setdefault(name, Counter()).update(counts)
            return []

        return call

    def _launch_of_operators(self, op: fused.LaunchOp, frame: Frame) -> Step:
        """A launch with addresses of a kernel that keeps its tensors: it reads all inputs, then writes all destinations."""
        kernel = op.kernel()
        assert kernel is not None, "a launch names a kernel"
        name, function = op.kernel_name, self._function(kernel)
        inputs, destinations = frame.slots(op.inputs), frame.slots(op.destinations)

        def step(r: Registers) -> None:
            self._launches[name] += 1
            arrays = [r[x].read(op, f"input #{i}") for i, x in enumerate(inputs)]
            with noting(op, lambda: f"in this launch of @{name}"):
                values = [_own(value, arrays) for value in function(*arrays)]
            for destination, value in zip(destinations, values, strict=True):
                r[destination].write(op, value)

        return step

    def _call(self, op: CallOp, frame: Frame) -> Step:
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp):
            raise CompileError.at(op, f"@{op.callee.string_value()} is not a function of this module")
        function, arguments, results = self._function(callee), frame.slots(op.arguments), frame.slots(op.results)

        def step(r: Registers) -> None:
            for result, value in zip(results, function(*[r[x] for x in arguments]), strict=True):
                r[result] = value

        return step


def _by_form(value: Factory, buffer: Factory) -> Factory:
    """An op of `tile` makes a value, or writes to a buffer."""

    def factory(op: Operation, frame: Frame) -> Step | None:
        on_memory = any(isinstance(x.type, MemRefType) for x in op.operands)
        return (buffer if on_memory else value)(op, frame)

    return factory
