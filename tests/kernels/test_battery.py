"""Are the words random where simspec reads them: along a lane, between lanes, chunks, processes, seeds and addresses?

A sample is an array ``words[block, step, lane]``; what a block is depends on the stream.  Every test turns a sample
into one p-value, already multiplied by the number of statistics behind it, so that "p < 1e-6" is a false alarm with
probability ≤ 1e-6; seeds are fixed.  Planted samples carry an error each, and every test is shown to reject one.

What statistics cannot see is left to the published vectors of ``test_words.py``: multipliers of the finaliser cut to
8 bits or more, or four state words from one key, pass all of this at 2²³ words.
"""

import hashlib

import numpy as np
import pytest
from scipy import special, stats

from simspec.kernels.jit import njit
from simspec.kernels.words import (
    GENERATORS,
    GOLD,
    LANES,
    MIX_1,
    MIX_2,
    aside,
    next_words,
    seed_generators,
    stream_keys,
    word_of,
)

FALSE_ALARM = 1e-6
PLANTED = 1e-12  # what a planted error must reach

# ---------------------------------------------------------------------------------------------------- samples


@njit
def run(states, pairs):
    """``pairs[block, step, j]`` from the states of the blocks."""
    for block in range(states.shape[0]):
        state = states[block].copy()
        for step in range(pairs.shape[1]):
            next_words(state, pairs[block, step])


@njit
def seed_chunks(keys, first, states):
    for block in range(states.shape[0]):
        seed_generators(keys, first + block, states[block])


@njit
def ask(keys, first, pairs):
    """Addresses, in order, with as many words each as a step has."""
    for address in range(pairs.shape[0] * pairs.shape[1]):
        base = aside(keys, np.uint64(first + address))
        for i in range(pairs.shape[2]):
            pairs[address // pairs.shape[1], address % pairs.shape[1], i] = word_of(base, i)


def played(states, steps):
    pairs = np.empty((len(states), steps, GENERATORS), np.uint64)
    run(np.ascontiguousarray(states), pairs)
    return pairs.view(np.uint32)


def states_of(blocks, keys, first=0):
    states = np.empty((blocks, 4, GENERATORS), np.uint64)
    seed_chunks(keys, first, states)
    return states


def chunks(blocks, steps, seed=1):
    """A block is a chunk."""
    return played(states_of(blocks, stream_keys(seed, "0" * 64)), steps)


def processes(blocks, steps, seed=1):
    """A block is chunk 0 of a process; the identities are hashes, as in a run."""
    names = (hashlib.sha256(str(block).encode()).hexdigest() for block in range(blocks))
    return played(np.concatenate([states_of(1, stream_keys(seed, name)) for name in names]), steps)


def seeds(blocks, steps, seed=1):
    """A block is chunk 0 of a root seed."""
    return played(np.concatenate([states_of(1, stream_keys(seed + b, "0" * 64)) for b in range(blocks)]), steps)


def addresses(blocks, steps, seed=1):
    """A step is an address of the words asked for now and then, its lanes are words 0 to 31 in halves."""
    pairs = np.empty((blocks, steps, GENERATORS), np.uint64)
    ask(stream_keys(seed, "0" * 64), 0, pairs)
    return pairs.view(np.uint32)


STREAMS = [chunks, processes, seeds, addresses]

# ---------------------------------------------------------------------------------------------------- p-values


def family(p):
    """Bonferroni: the smallest p-value times their number."""
    p = np.ravel(p)
    return min(1.0, float(p.min() * p.size))


def two_sided(above, below):
    """Both too far and too near are faults."""
    return np.minimum(1.0, 2 * np.minimum(above, below))


def chi_square(distance, freedom):
    """Few cells can fit exactly, counts being integers: below 15 degrees of freedom a near fit is no fault."""
    below = special.chdtr(freedom, distance) if freedom >= 15 else 1.0
    return two_sided(special.chdtrc(freedom, distance), below)


def poisson(found, mean):
    return float(two_sided(stats.poisson.sf(found - 1, mean), stats.poisson.cdf(found, mean)))


def normal(z):
    return special.erfc(np.abs(z) / np.sqrt(2))


def counted(cells, number):
    """Chi-square of equally likely cells; ``cells[unit, i]``; each unit alone and all together."""
    counts = np.array([np.bincount(row, minlength=number) for row in cells], np.int64)
    counts = np.vstack([counts, counts.sum(axis=0)])
    expected = counts.sum(axis=1, keepdims=True) / number
    return chi_square(((counts - expected) ** 2 / expected).sum(axis=1), number - 1)


def fits(counts, probabilities):
    """Chi-square of counts against a law; cells that expect fewer than 32 are joined to a neighbour."""
    expected = counts.sum() * probabilities
    starts = np.flatnonzero(expected >= 32)
    if starts.size < 2:
        return 1.0
    starts[0] = 0
    counts, expected = np.add.reduceat(counts, starts), np.add.reduceat(expected, starts)
    return chi_square(((counts - expected) ** 2 / expected).sum(), starts.size - 1)


# ---------------------------------------------------------------------------------------------------- tests


def by_lane(words):
    """``[lane, i]``: every lane, block after block."""
    return words.transpose(2, 0, 1).reshape(words.shape[2], -1)


def resolution(words):
    """Bits of a cell such that a lane fills each cell 32 times or more, at most 12."""
    return min(12, int(np.log2(words[..., 0].size / 32)))


def top_bits(words):
    """Are the top 12 bits equally frequent, in each lane and in all?"""
    bits = resolution(words)
    return family(counted(by_lane(words) >> (32 - bits), 2**bits))


def low_bits(words):
    """Are the low 12 bits?"""
    bits = resolution(words)
    return family(counted(by_lane(words) & (2**bits - 1), 2**bits))


def paired(first, second, bits):
    """Two-sided chi-square of the pairs of top bits and of the pairs of low bits."""
    top = counted((first >> (32 - bits) << bits) | (second >> (32 - bits)), 4**bits)
    low = counted(((first & (2**bits - 1)) << bits) | (second & (2**bits - 1)), 4**bits)
    return np.concatenate([top, low])


def serial_pairs(words):
    """Does a word of a lane tell the next one?  Pairs do not overlap, so they are independent."""
    bits = (resolution(words) - 1) // 2
    even = words[:, : words.shape[1] // 2 * 2]
    return family(paired(by_lane(even[:, ::2]), by_lane(even[:, 1::2]), bits))


def lane_pairs(words):
    """Does a lane tell its neighbour (2j with 2j + 1: one output; 2j + 1 with 2j + 2: two generators)?"""
    bits = resolution(words) // 2
    lanes = by_lane(words)
    inside, between = (lanes[::2], lanes[1::2]), (lanes[1:-1:2], lanes[2::2])
    return family([*paired(*inside, bits), *paired(*between, bits)])


def block_pairs(words):
    """Does a block tell the next one, lane by lane?"""
    bits = (resolution(words) - 1) // 2
    even = words[: words.shape[0] // 2 * 2]
    return family(paired(by_lane(even[::2]), by_lane(even[1::2]), bits))


def gaps(words):
    """Are the distances between words below a threshold geometric (the gap test), and the runs above or below it?

    Thresholds 1/8, 4/5 and 0.97, and from above 4/5: then a gap is a run of accepted drafts.  Of every lane as many
    gaps are taken as it holds in all but a few of 10¹⁵ cases, so that long ones are not missed at the end.
    """
    out = []
    for limit, below in ((1 / 8, True), (0.8, True), (0.97, True), (0.8, False)):
        threshold = round(limit * 2**32)
        chance = threshold / 2**32 if below else 1 - threshold / 2**32
        total = 0
        for lane in by_lane(words):
            found = np.flatnonzero((lane < threshold) == below)
            take = int(lane.size * chance - 8 * np.sqrt(lane.size * chance))
            if found.size < take:
                return 0.0
            distance = np.minimum(np.diff(found[:take], prepend=-1) - 1, 400)
            counts = np.bincount(distance, minlength=401)
            law = chance * (1 - chance) ** np.arange(401)
            law[400] = (1 - chance) ** 400
            out.append(fits(counts, law))
            total = total + counts
        out.append(fits(total, law))
    return family(out)


def repeats(words):
    """Does an output of 64 bits appear twice, as in a stream that is shared?  Among 2²² one does by chance: 4.8e-7."""
    outputs = np.ravel(words.view(np.uint64))[: 2**22]
    return 0.0 if repeated(outputs) else 1.0


def repeated(values):
    """How many values are there before a value like them?"""
    return int((np.diff(np.sort(values)) == 0).sum())


def collisions(words):
    """How many words repeat among n?  Poisson with mean n²/2³³ for the upper and the lower halves, n ≤ 2²⁰."""
    out = []
    for half in (0, 1):
        found = total = 0
        for sample in sliced(np.ravel(words[..., half::2]), 2**20):
            found += repeated(sample)
            total += sample.size * (sample.size - 1) / 2**33
        out.append(poisson(found, total))
    return family(out)


def sliced(values, size):
    return values[: values.size // size * size].reshape(-1, size) if values.size > size else values[None]


def birthday_spacings(words):
    """Are outputs of 64 bits evenly strewn?  Equal spacings between sorted birthdays are Poisson with mean m³/4n.

    m = 2¹⁶ outputs in year n = 2⁴⁴ (top, then low 44 bits), once in natural order and once along each lane pair.
    """
    outputs = words.view(np.uint64)
    out = []
    for order in (np.ravel(outputs), np.ravel(by_lane(outputs))):
        for day in (order >> np.uint64(20), order & np.uint64(2**44 - 1)):
            found, samples = 0, sliced(day, 2**16)
            for birthdays in samples:
                found += repeated(np.diff(np.sort(birthdays)))
            mean = len(samples) * samples.shape[1] ** 3 / 2**46
            out.append(poisson(found, mean))
    return family(out)


def views(words):
    """Numbers of mean 0 and variance 1: the word, its low 8 bits, its lowest bit, its highest bit."""
    yield ((words >> 8).astype(np.float32) - np.float32(2**23 - 0.5)) / np.float32(np.sqrt((2.0**48 - 1) / 12))
    yield ((words & 255).astype(np.float32) - np.float32(127.5)) / np.float32(np.sqrt((2.0**16 - 1) / 12))
    yield (words & 1).astype(np.float32) * 2 - 1
    yield (words >> 31).astype(np.float32) * 2 - 1


def correlated(left, right):
    """``z[l, m]`` of lane l of ``left`` with lane m of ``right``, standard normal where they have nothing in common."""
    count = left.shape[0] * left.shape[1]
    total = np.zeros((left.shape[2], right.shape[2]))
    for start in range(0, left.shape[0], 64):  # in pieces: float32 inside, float64 between
        a = np.ascontiguousarray(left[start : start + 64]).reshape(-1, left.shape[2])
        b = np.ascontiguousarray(right[start : start + 64]).reshape(-1, right.shape[2])
        total += a.T @ b
    return total / np.sqrt(count)


def lane_correlations(words):
    """Is any lane correlated with any lane 0 to 8 steps later, itself included, in whole words or in low bits?"""
    out = []
    for view in views(words):
        for lag in range(min(9, words.shape[1])):
            z = correlated(view[:, : words.shape[1] - lag], view[:, lag:])
            out.append(z[np.triu_indices(LANES, 1)] if lag == 0 else z)
    return family([p for z in out for p in normal(np.ravel(z))])


def block_correlations(words):
    """Is any lane correlated with any lane of the next block or of the one after, at the same step or one apart?"""
    out = []
    for view in views(words):
        for apart in (1, 2):
            here, there = view[:-apart], view[apart:]
            out.append(correlated(here, there))
            if words.shape[1] > 1:
                out += [correlated(here[:, 1:], there[:, :-1]), correlated(here[:, :-1], there[:, 1:])]
    return family(normal(np.array(out)))


def differing_bits(words):
    """Is each of the 32 bits of word XOR word balanced, for all pairs of lanes of a step, and between blocks?

    Bits as ±1: a balance is a sum of products.
    """
    out = []
    for bit in range(32):
        sign = ((words >> bit) & 1).astype(np.float32) * 2 - 1
        out.append(correlated(sign, sign)[np.triu_indices(LANES, 1)])
        out.append((sign[1:] * sign[:-1]).sum(axis=(0, 1)) / np.sqrt(sign[1:, :, 0].size))
        out.append(sign.sum(axis=(0, 1)) / np.sqrt(sign[..., 0].size))
    return family(normal(np.concatenate(out)))


def signs(outputs):
    """The 64 bits of every output as ±1: ``[block, step, 64]`` for one generator."""
    bits = np.unpackbits(np.ascontiguousarray(outputs)[..., None].view(np.uint8), axis=-1, bitorder="little")
    return bits.astype(np.float32) * 2 - 1


def bit_pairs(words):
    """Does any of the 64 bits of an output tell any bit of the same output, or of the next in step, block, generator?

    Generators are taken together; of large samples the first 2²² outputs.
    """
    outputs = words.view(np.uint64)[: max(2, 2**22 // (words.shape[1] * GENERATORS))]
    totals, sizes, before = np.zeros((4, 64, 64)), np.zeros(4), None
    for generator in range(GENERATORS):
        here = signs(outputs[..., generator])
        pairs = [(here, here), (here[:, :-1], here[:, 1:]), (here[:-1], here[1:]), (here, before)]
        for i, (a, b) in enumerate(pairs):
            if b is not None and b.size:
                size = b.shape[0] * b.shape[1]
                totals[i] += correlated(a, b) * np.sqrt(size)
                sizes[i] += size
        before = here
    z = totals / np.sqrt(np.maximum(sizes, 1))[:, None, None]
    return family(normal(np.concatenate([z[0][np.triu_indices(64, 1)], z[1:].ravel()])))


def weights(words):
    """How many bits differ between neighbours (lane, output, step, block): is the law binomial(32, 1/2)?"""
    law = stats.binom(32, 0.5).pmf(np.arange(33))
    pairs = [(words[..., ::2], words[..., 1::2]), (words[..., 1:-1:2], words[..., 2::2])]
    for axis in (0, 1):
        half = words.shape[axis] // 2
        if half:
            pairs.append((words.take(range(0, 2 * half, 2), axis), words.take(range(1, 2 * half, 2), axis)))
    return family([fits(np.bincount(np.ravel(np.bitwise_count(a ^ b)), minlength=33), law) for a, b in pairs])


TESTS = [
    top_bits,
    low_bits,
    serial_pairs,
    lane_pairs,
    block_pairs,
    gaps,
    repeats,
    collisions,
    birthday_spacings,
    lane_correlations,
    block_correlations,
    differing_bits,
    bit_pairs,
    weights,
]

# ---------------------------------------------------------------------------------------------------- planted errors


def counters(blocks):
    """32·chunk + j + 1."""
    return (np.arange(blocks * GENERATORS, dtype=np.uint64) + np.uint64(1)).reshape(blocks, 1, GENERATORS)


def seeded_by(blocks, steps, seeding):
    """A sample of chunks whose states are ``seeding(key, counter)``."""
    keys = stream_keys(1, "0" * 64)[None, :4, None]
    return played(seeding(keys, counters(blocks)), steps)


def mixed(z, one=MIX_1, two=MIX_2):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(one)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(two)
    return z ^ (z >> np.uint64(31))


def no_finaliser(blocks, steps):
    """State words are key + GOLD·counter."""
    return seeded_by(blocks, steps, lambda key, n: key + np.uint64(GOLD) * n)


def key_plus_counter(blocks, steps):
    """State words are key + counter."""
    return seeded_by(blocks, steps, lambda key, n: key + n)


def truncated_multipliers(blocks, steps, bits=4):
    """The multipliers of the finaliser keep their low ``bits``."""
    kept = 2**bits - 1
    return seeded_by(blocks, steps, lambda key, n: mixed(key + np.uint64(GOLD) * n, one=MIX_1 & kept, two=MIX_2 & kept))


def half_states(blocks, steps):
    """State words keep 32 of their bits."""
    return seeded_by(blocks, steps, lambda key, n: mixed(key + np.uint64(GOLD) * n) & np.uint64(2**32 - 1))


def one_generator_twice(blocks, steps):
    """Generators 3 and 20 of every chunk start alike."""
    states = states_of(blocks, stream_keys(1, "0" * 64))
    states[:, :, 20] = states[:, :, 3]
    return played(states, steps)


def overlapping_chunks(blocks, steps):
    """Counters advance by 31 a chunk: the last generator of one is the first of the next."""
    n = (np.arange(blocks)[:, None] * 31 + np.arange(GENERATORS) + 1).astype(np.uint64)[:, None]
    return played(mixed(stream_keys(1, "0" * 64)[None, :4, None] + np.uint64(GOLD) * n), steps)


def chunk_twice(blocks, steps):
    """The last block repeats the first."""
    words = chunks(blocks, steps)
    words[-1] = words[0]
    return words


def lane_delayed(blocks, steps):
    """Lane 9 reads what lane 8 read a step before."""
    words = chunks(blocks, steps)
    words[:, 1:, 9] = words[:, :-1, 8].copy()
    return words


def low_half_twice(blocks, steps):
    """Odd lanes read the low half too."""
    words = chunks(blocks, steps)
    words[..., 1::2] = words[..., ::2]
    return words


def bias(blocks, steps):
    """In lane 17 the top bit is cleared in one word of four."""
    words = chunks(blocks, steps)
    lane = words[..., 17]
    lane[(lane & 3) == 3] &= np.uint32(2**31 - 1)
    return words


def low_bit_stuck(blocks, steps):
    """Lane 17 lost its lowest bit, as a word that went through float32 would lose several."""
    words = chunks(blocks, steps)
    words[..., 17] &= np.uint32(2**32 - 2)
    return words


def neighbours_share_low_bits(blocks, steps):
    """In lane 30 the lowest bits of every second chunk are those of the chunk before."""
    words = chunks(blocks, steps)
    words[1::2, :, 30] = (words[1::2, :, 30] & np.uint32(2**32 - 2)) | (words[::2, :, 30] & np.uint32(1))
    return words


def sticky(blocks, steps):
    """Every 64th word of a lane is the one before."""
    words = chunks(blocks, steps)
    words[:, 1::64] = words[:, ::64][:, : words[:, 1::64].shape[1]]
    return words


def counting(blocks, steps):
    """Words of a Weyl sequence: too even."""
    n = np.arange(blocks * steps * GENERATORS, dtype=np.uint64).reshape(blocks, steps, GENERATORS)
    return (n * np.uint64(GOLD)).view(np.uint32)


def unmixed_addresses(blocks, steps):
    """The base of an address is not finalised: word 1 of an address is word 0 of the next."""
    n = np.arange(blocks * steps, dtype=np.uint64).reshape(blocks, steps, 1) + np.arange(1, 33, dtype=np.uint64)
    return mixed(stream_keys(1, "0" * 64)[4] + np.uint64(GOLD) * n).view(np.uint32)


def faint_bias(blocks, steps):
    """The top bit is cleared in one word of 128."""
    words = chunks(blocks, steps)
    words[(words & 127) == 3] &= np.uint32(2**31 - 1)
    return words


def faint_copy(blocks, steps):
    """One word of 64 in lane 9 is what lane 8 read a step before."""
    words = chunks(blocks, steps)
    here, there = words[:, 1:, 9], words[:, :-1, 8]
    copied = here % 64 == 0
    here[copied] = there[copied]
    return words


SMALL, WIDE, LONG, SHORT = (2048, 2), (2**14, 2), (2048, 256), (2**18, 2)
ERRORS = [  # error, shape of the sample, tests that must reject it
    (no_finaliser, SMALL, (block_pairs, block_correlations, birthday_spacings, gaps, differing_bits, weights)),
    (key_plus_counter, SMALL, (top_bits, low_bits, serial_pairs, collisions)),
    (truncated_multipliers, WIDE, (block_pairs,)),
    (half_states, SMALL, (top_bits, serial_pairs)),
    (one_generator_twice, SMALL, (repeats, lane_correlations, differing_bits)),
    (overlapping_chunks, SMALL, (repeats, block_correlations)),
    (chunk_twice, SMALL, (repeats,)),
    (lane_delayed, SMALL, (lane_correlations,)),
    (low_half_twice, SMALL, (lane_pairs, lane_correlations, weights)),
    (bias, SMALL, (top_bits, differing_bits)),
    (low_bit_stuck, SMALL, (low_bits, lane_correlations)),
    (neighbours_share_low_bits, SMALL, (block_pairs, block_correlations, differing_bits)),
    (sticky, SMALL, (serial_pairs, repeats)),
    (counting, SMALL, (birthday_spacings, bit_pairs)),
    (unmixed_addresses, SMALL, (repeats,)),
]
FAINT = [(faint_bias, LONG, (top_bits,)), (faint_copy, LONG, (lane_correlations,)), (faint_bias, LONG, (gaps,))]


def named(value):
    return getattr(value, "__name__", None) or "x".join(map(str, value))


def pairs_of(errors):
    return [(error, shape, test) for error, shape, tests in errors for test in tests]


# ---------------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize("stream", STREAMS, ids=named)
def test_words_pass(stream):
    """2¹⁸ words of every stream, 256 blocks of 16 steps.  False alarm ≤ 1e-6 a test."""
    words = stream(256, 16)
    verdicts = {test.__name__: test(words) for test in TESTS}
    assert {name: p for name, p in verdicts.items() if p < FALSE_ALARM} == {}


@pytest.mark.parametrize(("error", "shape", "test"), pairs_of(ERRORS), ids=named)
def test_planted_errors_are_rejected(error, shape, test):
    """Can the test fail?"""
    assert test(error(*shape)) < PLANTED


def test_every_test_can_fail():
    """Is there a planted error for each test?"""
    assert {test for _, _, tests in ERRORS for test in tests} == set(TESTS)


@pytest.fixture(scope="module")
def sample(request):
    stream, shape = request.param
    return stream(*shape)


@pytest.mark.deep
@pytest.mark.parametrize("test", TESTS, ids=named)
@pytest.mark.parametrize(
    "sample",
    [(stream, shape) for stream in STREAMS for shape in (LONG, SHORT)],
    ids=lambda value: f"{value[0].__name__} {value[1][0]}x{value[1][1]}",
    indirect=True,
)
def test_many_words_pass(sample, test):
    """2²⁵ words: 256 steps of 2048 blocks, and the first two of 2¹⁸.  False alarm ≤ 1e-6 a test."""
    assert test(sample) >= FALSE_ALARM


@pytest.mark.deep
@pytest.mark.parametrize(("error", "shape", "test"), pairs_of(FAINT), ids=named)
def test_faint_planted_errors_are_rejected(error, shape, test):
    """How small an error do 2²⁵ words show?"""
    assert test(error(*shape)) < PLANTED


@pytest.mark.deep
@pytest.mark.parametrize("test", TESTS, ids=named)
def test_the_tests_lie_as_rarely_as_they_say(test):
    """Is p < 0.05 at most as frequent as it should be with somebody else's generator, and is every p ≥ 1e-6?

    200 samples of numpy's Philox; at 5% each, 29 or more of them have such a p with probability 3e-7.
    """
    p = [
        test(np.random.Generator(np.random.Philox(seed)).integers(0, 2**32, (128, 16, LANES), np.uint32))
        for seed in range(200)
    ]
    assert min(p) >= FALSE_ALARM
    assert sum(value < 0.05 for value in p) < 29
