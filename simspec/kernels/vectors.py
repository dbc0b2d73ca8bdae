"""What does LLVM not find by itself?  Three loops as vectors: generators, a row against a word, chains side by side.

Generic vectors, which LLVM turns into whatever the machine has; nothing here names a processor.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCK = 8
"""Thresholds compared at once; rows of thresholds are padded to a multiple of it."""


@intrinsic
def above(typing_context, table, at, level):
    """Number of ``table.flat[at : at + 8]`` above ``level``: a load, a comparison and a population count.

    Written as a loop of eight this becomes scalar code with a branch for each threshold.
    """

    def generate(context, builder, signature, arguments):
        integer, vector = ir.IntType(32), ir.VectorType(ir.IntType(32), BLOCK)
        undefined = ir.Constant(vector, ir.Undefined)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        row = builder.load(place, align=4)
        first = builder.insert_element(undefined, arguments[2], ir.Constant(integer, 0))
        every = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(integer, BLOCK), [0] * BLOCK))
        mask = builder.bitcast(builder.icmp_signed(">", row, every), ir.IntType(BLOCK))
        return builder.zext(builder.ctpop(mask), integer)

    return types.int32(table, types.int64, types.int32), generate


TOGETHER = 16
"""Generators advanced at once: their states stay in registers, four times as fast as through memory."""
_WORD, _MANY = ir.IntType(64), ir.VectorType(ir.IntType(64), TOGETHER)


@intrinsic
def advance(typing_context, state, pairs, first, stride):
    """Steps of xoshiro256++ for generators ``first`` … ``first`` + 15: ``pairs[stride·i + j]`` is output i of j.

    ``state[w·stride + j]``: word w of the state of generator j; as many steps as ``pairs`` has room for.
    """

    def generate(context, builder, signature, arguments):
        start, width = arguments[2], arguments[3]
        states = context.make_array(signature.args[0])(context, builder, arguments[0])
        outputs = context.make_array(signature.args[1])(context, builder, arguments[1])
        steps = builder.udiv(builder.extract_value(outputs.shape, 0), width)

        def place(data, block):
            at = builder.add(start, builder.mul(block, width))
            return builder.bitcast(builder.gep(data, [at]), _MANY.as_pointer())

        words = [cgutils.alloca_once(builder, _MANY) for _ in range(4)]
        for w, word in enumerate(words):
            builder.store(builder.load(place(states.data, ir.Constant(_WORD, w)), align=8), word)
        with cgutils.for_range(builder, steps) as loop:
            output = _xoshiro_step(builder, words)
            builder.store(output, place(outputs.data, loop.index), align=8)
        for w, word in enumerate(words):
            builder.store(builder.load(word), place(states.data, ir.Constant(_WORD, w)), align=8)
        return context.get_dummy_value()

    return types.none(state, pairs, types.int64, types.int64), generate


def _xoshiro_step(builder, words):
    """Advance the four words by one step; the output of each generator."""

    def all_of(number):
        return ir.Constant(_MANY, [number] * TOGETHER)

    def rotate(x, k):
        return builder.or_(builder.shl(x, all_of(k)), builder.lshr(x, all_of(64 - k)))

    s0, s1, s2, s3 = (builder.load(word) for word in words)
    output = builder.add(rotate(builder.add(s0, s3), 23), s0)
    t = builder.shl(s1, all_of(17))
    s2 = builder.xor(s2, s0)
    s3 = builder.xor(s3, s1)
    s1 = builder.xor(s1, s2)
    s0 = builder.xor(s0, s3)
    s2 = builder.xor(s2, t)
    for word, value in zip(words, (s0, s1, s2, rotate(s3, 45)), strict=True):
        builder.store(value, word)
    return output


SIDE_BY_SIDE = 16
DRAFTS = 4
"""Chains counted at once, and thresholds for which each word is read once; their counts stay in registers."""


@intrinsic
def count_survivors(typing_context, levels, full, low, high, survivors, draft, rounds, lanes):
    """``survivors[d·lanes + lane]`` += rounds whose level lies below their limit, for drafts d = draft … draft + 3.

    ``levels[r·lanes + lane]``; the limit is ``high[d]`` where ``full[r·lanes + lane]`` is not 0, else ``low[d]``.
    """

    def generate(context, builder, signature, arguments):
        arrays = zip(signature.args[:5], arguments[:5], strict=True)
        tables = [context.make_array(kind)(context, builder, value).data for kind, value in arrays]
        _count_groups(builder, tables, *arguments[5:])
        return context.get_dummy_value()

    count = types.int64
    return types.none(levels, full, low, high, survivors, count, count, count), generate


def _count_groups(builder, tables, draft, rounds, lanes):
    """The loop over groups of chains, and inside it the one over rounds."""
    levels, full, low, high, survivors = tables
    number, vector = ir.IntType(32), ir.VectorType(ir.IntType(32), SIDE_BY_SIDE)
    undefined, zero = ir.Constant(vector, ir.Undefined), ir.Constant(vector, [0] * SIDE_BY_SIDE)
    nowhere = ir.Constant(ir.VectorType(number, SIDE_BY_SIDE), [0] * SIDE_BY_SIDE)
    drafts = [builder.add(draft, ir.Constant(_WORD, d)) for d in range(DRAFTS)]

    def place(data, at):
        return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())

    def everywhere(data, at):
        one = builder.insert_element(undefined, builder.load(builder.gep(data, [at])), ir.Constant(number, 0))
        return builder.shuffle_vector(one, undefined, nowhere)

    limits = [(everywhere(high, d), everywhere(low, d)) for d in drafts]
    totals = [cgutils.alloca_once(builder, vector) for _ in drafts]
    with cgutils.for_range(builder, builder.udiv(lanes, ir.Constant(_WORD, SIDE_BY_SIDE))) as group:
        lane = builder.mul(group.index, ir.Constant(_WORD, SIDE_BY_SIDE))
        homes = [place(survivors, builder.add(builder.mul(d, lanes), lane)) for d in drafts]
        for home, total in zip(homes, totals, strict=True):
            builder.store(builder.load(home, align=4), total)
        with cgutils.for_range(builder, rounds) as loop:
            at = builder.add(lane, builder.mul(loop.index, lanes))
            level = builder.load(place(levels, at), align=4)
            after_full = builder.icmp_signed("!=", builder.load(place(full, at), align=4), zero)
            for (above_full, above_other), total in zip(limits, totals, strict=True):
                longer = builder.icmp_signed("<", level, builder.select(after_full, above_full, above_other))
                builder.store(builder.sub(builder.load(total), builder.sext(longer, vector)), total)
        for home, total in zip(homes, totals, strict=True):
            builder.store(builder.load(total), home, align=4)
