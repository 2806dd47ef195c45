"""The planner keeps its promises on any lifetimes, and verify-memory finds every fault that is planted in its plans."""

from __future__ import annotations

from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from ge_compiler import dialects
from ge_compiler.dialects.buf import AllocOp, AtOp
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, round_up
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import target_of
from ge_compiler.dialects.types import buffer_type
from ge_compiler.transforms.plan_memory import PlanMemoryPass
from ge_compiler.transforms.planning.lifetimes import lifetimes
from ge_compiler.transforms.planning.planner import Request, lower_bound, most_held, peak, plan, plan_without_reuse
from ge_compiler.transforms.verify_memory import VerifyMemoryPass


def _request(size: int, first: int, length: int, edges: set[int]) -> Request:
    """Held from `first` on for `length` steps, but for the steps between every two of `edges`."""
    inside = sorted(first + edge for edge in edges if 0 < edge < length)
    return Request(size, first, first + length, tuple(zip(inside[::2], inside[1::2], strict=False)))


def _held_at(request: Request, step: int) -> bool:
    return request.first <= step < request.end and not any(start <= step < end for start, end in request.gaps)


REQUESTS = st.lists(
    st.builds(_request, st.integers(0, 300), st.integers(0, 30), st.integers(1, 12), st.sets(st.integers(1, 11), max_size=4)), max_size=24
)
ALIGNMENTS = st.sampled_from([1, 32, 64, 512])


def _overlapping(requests: list[Request], offsets: tuple[int, ...]) -> list[tuple[int, int]]:
    """Pairs that share a byte at some step, by looking at every step."""
    found: set[tuple[int, int]] = set()
    for step in range(60):
        held = [i for i, r in enumerate(requests) if _held_at(r, step)]
        for i, j in combinations(held, 2):
            low, high = max(offsets[i], offsets[j]), min(offsets[i] + requests[i].size, offsets[j] + requests[j].size)
            if low < high:
                found.add((i, j))
    return sorted(found)


@given(REQUESTS, ALIGNMENTS)
def test_a_plan_is_aligned_apart_and_between_its_bounds(requests: list[Request], alignment: int) -> None:
    offsets = plan(requests, alignment)
    assert len(offsets) == len(requests)
    assert all(offset >= 0 and offset % alignment == 0 for offset in offsets)
    assert _overlapping(requests, offsets) == []
    assert lower_bound(requests) <= peak(requests, offsets)
    assert peak(requests, offsets) <= sum(round_up(request.size, alignment) for request in requests)
    assert offsets == plan(list(requests), alignment)


@given(REQUESTS)
def test_the_lower_bound_is_the_most_held_at_a_step(requests: list[Request]) -> None:
    by_step = [sum(r.size for r in requests if _held_at(r, step)) for step in range(60)]
    assert lower_bound(requests) == max(by_step)
    assert sum(requests[i].size for i in most_held(requests)) == max(by_step)


@given(REQUESTS, ALIGNMENTS)
def test_without_reuse_no_two_buffers_share_a_byte(requests: list[Request], alignment: int) -> None:
    always = [Request(r.size, 0, 1) for r in requests]
    offsets = plan_without_reuse(requests, alignment)
    assert _overlapping(always, offsets) == []
    assert all(offset % alignment == 0 for offset in offsets)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=30), st.sampled_from([1, 4]))
def test_a_chain_needs_no_more_than_two_neighbours(sizes: list[int], alignment: int) -> None:
    """Each value is needed until the next one is made: the largest neighbours decide."""
    chain = [Request(size * alignment, i, i + 2) for i, size in enumerate(sizes)]
    needed = max([a.size + b.size for a, b in pairwise(chain)], default=chain[0].size)
    assert peak(chain, plan(chain, alignment)) == needed == lower_bound(chain)


def _layer(start: int, hidden: int) -> list[Request]:
    """The intermediates of a transformer layer whose launches are the steps from `start` on, which takes its input from the one before."""
    q, k, v, attention, out, norm, wide, down, result = range(start, start + 9)
    once = [(q, attention), (k, attention), (v, attention), (attention, out), (out, norm), (wide, down), (down, result)]
    sizes = [hidden, hidden // 4, hidden // 4, hidden, hidden, 4 * hidden, hidden]
    lives = [Request(size, made, used + 1) for size, (made, used) in zip(sizes, once, strict=True)]
    return [*lives, Request(hidden, norm, result + 1), Request(hidden, result, result + 6), Request(300 * 1024, attention, attention + 1)]


@pytest.mark.parametrize("layers", [1, 12, 48])
def test_layers_need_what_one_step_of_them_holds(layers: int) -> None:
    requests = [request for i in range(layers) for request in _layer(9 * i, 393_216)]
    assert peak(requests, plan(requests, 512)) == lower_bound(requests)


def test_a_hundred_buffers_of_mixed_lifetimes_waste_little() -> None:
    wasted: list[float] = []
    for seed in range(20):
        random = Random(seed)
        requests = [Request(512 * random.choice([1, 2, 3, 8, 12, 96, 384]), i, i + random.randrange(2, 20)) for i in range(100)]
        wasted.append(peak(requests, plan(requests, 512)) / lower_bound(requests) - 1)
    assert sum(wasted) / len(wasted) <= 0.01


# ---- plans in IR ------------------------------------------------------------------------------------------------------


def _program(random: Random) -> str:
    """A kernel with buffers of random sizes, touched at random inside and outside of loops."""
    lines = ["func.func private @kernel(%zero: index, %n: index, %one: f32) {"]
    count = 0

    def block(visible: list[str], depth: int) -> None:
        nonlocal count
        for _ in range(random.randint(2, 9)):
            kind = random.random()
            if kind < 0.3 or not visible:
                count += 1
                lines.append(f'  %b{count} = buf.alloc "b{count}" : memref<{random.randint(1, 9)}x8xf32, #npu.mem<ub>>')
                visible = [*visible, f"%b{count}"]
            elif kind < 0.75 or depth == 2:
                name = random.choice(visible)
                lines.append(f"  tile.abs {name} into {name} : TYPE({name}) into TYPE({name})")
            else:
                lines.append(f"  scf.for %i{len(lines)} = %zero to %n step %n {{")
                block(visible, depth + 1)
                lines.append("  }")

    block([], 0)
    text = "\n".join([*lines, "  func.return", "}"])
    types = {line.split()[0]: line.split(" : ")[1] for line in lines if "buf.alloc" in line}
    for name in sorted(types, key=len, reverse=True):
        text = text.replace(f"TYPE({name})", types[name])
    return text


RANDOMS = st.integers(0, 2**32).map(Random)


def _planned(text: str, reuse: str = "greedy") -> ModuleOp:
    module = parse_module(text)
    (PlanMemoryPass() if reuse == "greedy" else PlanMemoryPass(reuse="none")).apply(dialects.context(), module)
    return module


def _verify(module: ModuleOp) -> None:
    VerifyMemoryPass().apply(dialects.context(), module)


@settings(max_examples=40, deadline=None)
@given(RANDOMS)
def test_every_plan_passes_the_independent_check(random: Random) -> None:
    text = _program(random)
    _verify(_planned(text))
    _verify(_planned(text, "none"))


def _meeting_pairs(text: str) -> list[tuple[str, str]]:
    """Labels of buffers that are in use at the same time, the smaller one first."""
    held = [h for function in parse_module(text).body.block.ops for h in lifetimes(function) if h.touches]
    pairs = [sorted(pair, key=lambda h: h.request.size) for pair in combinations(held, 2) if pair[0].request.meets(pair[1].request)]
    return [(smaller.op.label.data, larger.op.label.data) for smaller, larger in pairs]


def _moved(module: ModuleOp, label: str, offset: int) -> AtOp:
    """Moves the buffer `label` to `offset`."""
    old = next(op for op in module.walk() if isinstance(op, AtOp) and op.label.data == label)
    new = AtOp(old.label, [offset], buffer_type(old.result))
    block = old.parent
    assert block is not None
    block.insert_op_before(new, old)
    old.result.replace_all_uses_with(new.result)
    old.detach()
    old.erase()
    return new


@settings(max_examples=40, deadline=None)
@given(RANDOMS)
def test_every_planted_overlap_is_found(random: Random) -> None:
    text = _program(random)
    for first, second in _meeting_pairs(text)[:6]:
        module = _planned(text, "none")
        target = next(op for op in module.walk() if isinstance(op, AtOp) and op.label.data == second)
        _moved(module, first, target.offsets.get_values()[0])
        with pytest.raises(CompileError) as caught:
            _verify(module)
        told = str(caught.value)
        assert f'"{first}"' in told
        assert f'"{second}"' in told


@settings(max_examples=30, deadline=None)
@given(RANDOMS, st.integers(1, 31))
def test_every_planted_misalignment_is_found(random: Random, shift: int) -> None:
    text = _program(random)
    labels = [op.label.data for op in parse_module(text).walk() if isinstance(op, AllocOp)]
    for label in labels:
        module = _planned(text)
        moved = _moved(module, label, 32 * 100 + shift)
        with pytest.raises(CompileError, match=rf'offset {32 * 100 + shift} of "{label}" is no multiple of 32') as caught:
            _verify(module)
        assert caught.value.location == moved.location


@given(RANDOMS)
@settings(max_examples=30, deadline=None)
def test_every_planted_overflow_is_found(random: Random) -> None:
    text = _program(random)
    capacity = target_of(ModuleOp([])).capacity(Space.UB)
    label = random.choice([op.label.data for op in parse_module(text).walk() if isinstance(op, AllocOp)])
    module = _planned(text)
    _moved(module, label, capacity)
    with pytest.raises(CompileError, match=rf'buffer "{label}" at \[{capacity}, '):
        _verify(module)


def test_a_kernel_of_every_shape_is_drawn() -> None:
    """The generator does draw nested loops and buffers that outlive them; else the tests above would say little."""
    texts = [_program(Random(seed)) for seed in range(60)]
    assert any(text.count("scf.for") > 3 for text in texts)
    assert sum(len(_meeting_pairs(text)) for text in texts) > 200
