"""Random words: published vectors, the frozen layout, and what must not repeat.

How random they are is asked in ``test_battery.py`` and, with somebody else's tests, in ``results/battery/``.
"""

import hashlib
import sys

import numpy as np
import pytest

from simspec.kernels import words_twin
from simspec.kernels.words import (
    GENERATORS,
    GOLD,
    LANES,
    STREAM_VERSION,
    aside,
    next_levels,
    next_words,
    seed_generators,
    stream_keys,
    word_of,
)
from simspec.model import SimspecError

# start of the state → outputs of xoshiro256++, each made by its source with Blackman and Vigna's xoshiro256plusplus.c
XOSHIRO = {
    # rand_xoshiro (Rust), src/xoshiro256plusplus.rs, test `reference`
    (1, 2, 3, 4): [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ],
    # Apache Commons RNG (Java), XoShiRo256PlusPlusTest, first 20 of 40
    (0x012DE1BABB3C4104, 0xA5A818B8FC5AA503, 0xB124EA2B701F4993, 0x18E0374933D8C782): [
        0x83256C3EFE494810, 0xB6A32C7A2F427E87, 0xEA4A4FAA5F25C89C, 0xBC7ECCDDA31316CC,
        0x13FD0F7150D989C6, 0x547138CBAE221C4B, 0x9A2ED08E202CCDD4, 0x71C76BEFFD5FFAF7,
        0x4A82A53F9BF0E159, 0x82B8FEE551E226F6, 0xC8A7CB2002FBABD2, 0xE9FD4B8E8420B6CA,
        0xC4FEE10FF73A4513, 0xBEEE1386595FD5BB, 0x1CA9EA9F7AF81173, 0x1182E0F6515E7A82,
        0x92F033C288C73349, 0xF929B1C910F5D6FD, 0xD74F135A22456C58, 0x5DB7C5F1BAB2BA95,
    ],
    # edorfaus/xoshiro-6502 (assembler), test-rom/testdata.asm
    (0xD40AB895964D4A0C, 0x3006F0F0AD7FDECB, 0xA223AAA52121FF08, 0x2FDF0E042EC2EE8B): [
        0x20ED40B1E1CF3EEF, 0xF9FE2DE677A967F1, 0xDB8AD9CD873337D5, 0x7B5ADF8141B6A15F,
    ],
    # DSCF-1224/xoshiro-fortran, test/README.md: one bit set, so every shift and rotation can be seen
    (0, 0, 0, 1): [
        0x0000000000800000, 0x0000000000800011, 0x0002200000800011, 0x0002200044000020, 0x00022000448008A1,
        0x01102100802208A0, 0x0114002284200880, 0x0402896644A64095, 0x8A14A0A244ACC891, 0x8C88BA4680B20495,
    ],
}  # fmt: skip
# xoshiro-6502 also prints the state after four steps
STATE_AFTER_FOUR = (0xFEEBF2244ABEF4D6, 0x4C5FB16D8514E54D, 0x077D3BB0ACD20F76, 0xB6A38E0B94A29077)
# ... and the sources above the outputs 2¹²⁸ steps on; the polynomial is that of `jump` in xoshiro256plusplus.c
JUMP = (0x180EC6D33CFD0ABA, 0xD5A61266F0C9392C, 0xA9582618E03FC9AA, 0x39ABDC4529B1661C)
JUMPED = {
    (0x012DE1BABB3C4104, 0xA5A818B8FC5AA503, 0xB124EA2B701F4993, 0x18E0374933D8C782): [
        0x097817815FF7650E, 0xE3A4A1BA31FE551C, 0xD7EDAC1F857EB72E, 0xEAF103AB604C1F33,
    ],
    (0, 0, 0, 1): [0x88F9A31AFDB439F5, 0x38134A20DFA1A232, 0x21D6A25A297797C7, 0xFCA0846CC616D4F8],
}  # fmt: skip
# seed → outputs of splitmix64
SPLITMIX = {
    # Rosetta Code, "Pseudo-random numbers/Splitmix64"
    1234567: [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ],
    # rand_xoshiro (Rust), src/splitmix64.rs, made with Vigna's splitmix64.c; first 6 of 50
    1477776061723855037: [
        1985237415132408290, 2979275885539914483, 13511426838097143398,
        8488337342461049707, 15141737807933549159, 17093170987380407015,
    ],
    # Apache Commons RNG (Java), SplitMix64Test, all 40; outputs 25 to 28 are the state of its xoshiro vector above
    0x1A2B3C4D5E6F7531: [
        0x4141302768C9E9D0, 0x64DF48C4EAB51B1A, 0x4E723B53DBD901B3, 0xEAD8394409DD6454,
        0x3EF60E485B412A0A, 0xB2A23AEE63AECF38, 0x6CC3B8933C4FA332, 0x9C9E75E031E6FCCB,
        0x0FDDFFB161C9F30F, 0x2D1D75D4E75C12A3, 0xCDCF9D2DDE66DA2E, 0x278BA7D1D142CFEC,
        0x4CA423E66072E606, 0x8F2C3C46EBC70BB7, 0xC9DEF3B1EEAE3E21, 0x8E06670CD3E98BCE,
        0x2326DEE7DD34747F, 0x3C8FFF64392BB3C1, 0xFC6AA1EBE7916578, 0x3191FB6113694E70,
        0x3453605F6544DAC6, 0x86CF93E5CDF81801, 0x0D764D7E59F724DF, 0xAE1DFB943EBF8659,
        0x012DE1BABB3C4104, 0xA5A818B8FC5AA503, 0xB124EA2B701F4993, 0x18E0374933D8C782,
        0x2AF8DF668D68AD55, 0x76E56F59DAA06243, 0xF58C016F0F01E30F, 0x8EEAFA41683DBBF4,
        0x7BF121347C06677F, 0x4FD0C88D25DB5CCB, 0x99AF3BE9EBE0A272, 0x94F2B33B74D0BDCB,
        0x24B5D9D7A00A3140, 0x79D983D781A34A3C, 0x582E4A84D595F5EC, 0x7316FE8B0F606D20,
    ],
}  # fmt: skip
SEEDED = 0x1A2B3C4D5E6F7531


def everywhere(start):
    """All generators in one state."""
    return np.repeat(np.array(start, np.uint64)[:, None], GENERATORS, axis=1)


def steps(state, count):
    """The next outputs of all generators, as rows of integers."""
    pairs, out = np.empty(GENERATORS, np.uint64), []
    for _ in range(count):
        next_words(state, pairs)
        out.append(pairs.tolist())
    return out


@pytest.mark.parametrize("start", XOSHIRO)
def test_generator_matches_the_published_vectors(start):
    """Is one step of every generator a step of xoshiro256++?"""
    expected = XOSHIRO[start]
    assert steps(everywhere(start), len(expected)) == [[word] * GENERATORS for word in expected]


def test_states_match_the_published_states():
    """Is the state right, also in the bits an output does not show?"""
    state = everywhere(list(XOSHIRO)[2])
    steps(state, 4)
    assert [set(row) for row in state.tolist()] == [{word} for word in STATE_AFTER_FOUR]


@pytest.mark.parametrize("start", JUMPED)
def test_the_transition_is_the_published_one_at_a_distance_of_2_to_the_128(start):
    """Does a sum of 256 successive states land where the authors' jump lands?  One wrong bit of the step would not."""
    state, sum_ = everywhere(start), np.zeros((4, GENERATORS), np.uint64)
    for bit in range(256):
        if JUMP[bit // 64] >> (bit % 64) & 1:
            sum_ ^= state
        steps(state, 1)
    assert steps(sum_, 4) == [[word] * GENERATORS for word in JUMPED[start]]


@pytest.mark.parametrize("start", SPLITMIX)
def test_seeding_is_splitmix64(start):
    """Is word w of generator j of chunk c output 32c + j + 1 of splitmix64 started at key w?"""
    state = np.empty((4, GENERATORS), np.uint64)
    expected = SPLITMIX[start]
    for chunk in range(-(-len(expected) // GENERATORS)):
        seed_generators(np.full(8, start, np.uint64), chunk, state)
        part = expected[GENERATORS * chunk : GENERATORS * (chunk + 1)]
        assert state[:, : len(part)].tolist() == [part] * 4


def test_seeding_and_generation_together_match_published_vectors():
    """Do the lanes of a chunk read what Apache's splitmix64 seeds and its xoshiro256++ then puts out, low half first?

    Key w is placed so that generator 0 of chunk 0 receives outputs 25 + w of the one as its state in the other.
    """
    keys = np.array([(SEEDED + GOLD * (24 + w)) % 2**64 for w in range(8)], np.uint64)
    state, pairs = np.empty((4, GENERATORS), np.uint64), np.empty(GENERATORS, np.uint64)
    seed_generators(keys, 0, state)
    start = tuple(SPLITMIX[SEEDED][24:28])
    assert tuple(state[:, 0].tolist()) == start
    for output in XOSHIRO[start]:
        next_words(state, pairs)
        assert pairs.view(np.uint32)[:2].tolist() == [output & 0xFFFFFFFF, output >> 32]


@pytest.mark.parametrize("start", SPLITMIX)
def test_words_asked_for_now_and_then_are_splitmix64_twice(start):
    """Is word i of a base output i + 1 of splitmix64 started there, and base a that of address a, started at key 4?"""
    outputs = SPLITMIX[start]
    assert [int(word_of(np.uint64(start), i)) for i in range(len(outputs))] == outputs
    keys = np.array([0, 0, 0, 0, start, 0, 0, 0], np.uint64)
    assert [int(aside(keys, np.uint64(a + 1))) for a in range(len(outputs))] == outputs


def test_several_steps_at_once_are_the_steps_one_by_one():
    """Does ``pairs[32·i + j]`` hold output i of generator j?"""
    keys, one, many = stream_keys(3, "p"), np.empty((4, GENERATORS), np.uint64), np.empty((4, GENERATORS), np.uint64)
    seed_generators(keys, 9, one)
    seed_generators(keys, 9, many)
    pairs = np.empty(5 * GENERATORS, np.uint64)
    next_words(many, pairs)
    assert pairs.reshape(5, GENERATORS).tolist() == steps(one, 5)
    assert (many == one).all()


def test_levels_are_words_in_signed_order():
    """Is a level the word less 2³¹, so that signed order is word order; and is the highest word the one below it?"""
    keys, one, two = stream_keys(3, "p"), np.empty((4, GENERATORS), np.uint64), np.empty((4, GENERATORS), np.uint64)
    seed_generators(keys, 9, one)
    seed_generators(keys, 9, two)
    words, levels = np.empty(8 * GENERATORS, np.uint64), np.empty(8 * GENERATORS, np.uint64)
    next_words(one, words)
    next_levels(two, levels, levels.view(np.int32))
    assert (levels.view(np.int32).astype(np.int64) == words.view(np.uint32).astype(np.int64) - 2**31).all()
    # state (0, 0, 0, s3) puts out s3 rotated by 23: all ones from all ones
    next_levels(everywhere((0, 0, 0, 2**64 - 1)), levels[:GENERATORS], levels[:GENERATORS].view(np.int32))
    assert (levels[:GENERATORS].view(np.int32) == 2**31 - 2).all()


def test_keys_are_sha_512_read_in_little_endian_order():
    """Are the keys what the layout says, in whatever order this machine keeps its bytes?"""
    digest = hashlib.sha512(b"simspec stream 2\nwindows\n18446744073709551615\nabc\n").digest()
    keys = stream_keys(2**64 - 1, "abc")
    assert keys.tolist() == [int.from_bytes(digest[8 * k : 8 * k + 8], "little") for k in range(8)]
    assert keys.dtype == np.uint64
    assert keys.dtype.isnative
    assert keys.flags.writeable  # a view of the digest would not be


def test_other_byte_orders_are_refused(monkeypatch):
    """Where the high half comes first, lanes would swap their words: the streams say no."""
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(SimspecError, match="little-endian"):
        stream_keys(1, "p")


def test_states_are_exact_beyond_the_53_bits_of_a_float():
    """Does a far chunk keep its low bits?  Mixed signed and unsigned integers become floats in numba and in numpy."""
    keys, state = stream_keys(1, "p"), np.empty((4, GENERATORS), np.uint64)
    for chunk in (2**53 + 1, np.int64(2**53 + 1), 2**58 - 1):
        seed_generators(keys, chunk, state)
        expected = [
            [words_twin.mixed((int(key) + GOLD * (GENERATORS * int(chunk) + j + 1)) % 2**64) for j in range(GENERATORS)]
            for key in keys[:4]
        ]
        assert state.tolist() == expected


def test_kernel_words_and_twin_words_are_the_same():
    keys = stream_keys(7, "process")
    state, pairs = np.empty((4, GENERATORS), np.uint64), np.empty(GENERATORS, np.uint64)
    for chunk in (0, 1, 12345, 2**40):
        seed_generators(keys, chunk, state)
        lanes = [words_twin.lane_words(keys, chunk, lane) for lane in range(LANES)]
        for _ in range(20):
            next_words(state, pairs)
            assert pairs.view(np.uint32).tolist() == [next(words) for words in lanes]


def test_the_layout_of_stream_version_2_is_frozen():
    """If this changes, STREAM_VERSION must change."""
    assert STREAM_VERSION == 2
    keys = stream_keys(1, "0" * 64)
    assert keys.tolist() == FROZEN_KEYS
    assert stream_keys(1, "0" * 64, "tokens").tolist()[0] == FROZEN_TOKENS_KEY
    state, pairs = np.empty((4, GENERATORS), np.uint64), np.empty(GENERATORS, np.uint64)
    for (chunk, lane), expected in FROZEN.items():
        seed_generators(keys, chunk, state)
        read = []
        for _ in expected:
            next_words(state, pairs)
            read.append(int(pairs.view(np.uint32)[lane]))
        assert read == expected
        words = words_twin.lane_words(keys, chunk, lane)
        assert [next(words) for _ in expected] == expected


# these were computed from the text of the layout by a program that shares no code with simspec
FROZEN_KEYS = [
    3901816884037101104,
    16593621031440104378,
    9889843330136977088,
    3323840431816290457,
    1640121210672075120,
    12810141298181961665,
    9658908396353561030,
    16546364765753788807,
]
FROZEN_TOKENS_KEY = 7344444736554195077
FROZEN = {  # (chunk, lane): words 0 to 3
    (0, 0): [1109287873, 712989287, 2082829037, 3056104675],
    (3, 5): [682900917, 2594977065, 2432005767, 1801502733],
    (2**33 + 1, 62): [54640992, 4139307938, 2169799808, 1440633605],
    (2**40, 63): [1276850476, 2267151923, 3525629268, 921609253],
}


def test_streams_differ_by_seed_process_domain_and_chunk():
    """Has every address words of its own?  Two of 384 firsts of 32 bits coincide in one layout of 60 000."""
    processes = [hashlib.sha256(bytes([p])).hexdigest() for p in range(4)]
    addresses = [
        (seed, p, domain) for seed in (0, 1, 2, 2**64 - 1) for p in processes for domain in ("windows", "tokens")
    ]
    keys = np.array([stream_keys(*address) for address in addresses])
    assert np.unique(keys).size == keys.size
    firsts = {
        next(words_twin.lane_words(row, chunk, lane))
        for row in keys
        for chunk in (0, 1, 2**32)
        for lane in (0, 1, 62, 63)
    }
    assert len(firsts) == len(addresses) * 12


def test_no_two_lanes_share_a_state_word():
    """Are the state words of a process images of distinct counters under a bijection, also between the four words?

    Within one word equality is impossible; between two words it is a coincidence of 64 bits.
    """
    keys, state, seen = stream_keys(1, "p"), np.empty((4, GENERATORS), np.uint64), set()
    for chunk in range(200):
        seed_generators(keys, chunk, state)
        seen.update(state.ravel().tolist())
    assert len(seen) == 200 * 4 * GENERATORS


def test_lanes_are_uniform_and_uncorrelated():
    """Mean and cross-lane correlation of 2²² words; each bound has false-alarm probability below 1e-6 (5.2 sigma)."""
    keys, state, pairs = stream_keys(1, "u"), np.empty((4, GENERATORS), np.uint64), np.empty(GENERATORS, np.uint64)
    rows = []
    for chunk in range(64):
        seed_generators(keys, chunk, state)
        for _ in range(1024):
            next_words(state, pairs)
            rows.append(pairs.view(np.uint32).astype(np.float64))
    words = np.array(rows) / 2**32 - 0.5
    scale = np.sqrt(1 / 12 / len(words))
    assert np.abs(words.mean(axis=0)).max() < 6.0 * scale  # 64 lanes: 6 sigma leaves 1.3e-7
    correlation = np.corrcoef(words.T) - np.eye(LANES)
    assert np.abs(correlation).max() < 6.5 / np.sqrt(len(words))  # 2016 pairs: 6.5 sigma leaves 1.7e-7
    successive = (words[1:] * words[:-1]).mean(axis=0) * 12
    assert np.abs(successive).max() < 6.0 / np.sqrt(len(words))
