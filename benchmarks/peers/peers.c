/* What a user would write in C: plain token loops, and 32-bit thresholds in SIMD lanes.

   gcc -O3 -march=native -shared -fPIC peers.c -o peers.so      (peers/compiled.py does this)

   Loops: scalar xoshiro256++, one 64-bit word per drafted token, compared with floor(rate * 2^64).
   SIMD: GCC vector extensions; one 32-bit word per window, compared with kappa thresholds.
   All run on one thread and fill the histograms that simspec fills. */
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h> /* blends and masked additions that vector extensions cannot name */
#endif

typedef uint64_t u64;
typedef int64_t i64;

#define LONGEST 16
#define WIDE (LONGEST + 1) /* hist[drafted][accepted] is WIDE x WIDE */
#define ROTL(x, k) (((x) << (k)) | ((x) >> (64 - (k))))

/* ------------------------------------------------------------------ words */

typedef struct { u64 a, b, c, d; } Rng;

static u64 splitmix(u64 *at) {
    u64 z = *at += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static Rng seeded(u64 seed) {
    Rng g;
    g.a = splitmix(&seed), g.b = splitmix(&seed), g.c = splitmix(&seed), g.d = splitmix(&seed);
    return g;
}

static inline u64 next(Rng *g) {
    u64 out = ROTL(g->a + g->d, 23) + g->a, t = g->b << 17;
    g->c ^= g->a, g->d ^= g->b, g->b ^= g->c, g->a ^= g->d, g->c ^= t, g->d = ROTL(g->d, 45);
    return out;
}

/* ------------------------------------------- token loops at one fixed kappa */

void loop_iid(u64 seed, i64 windows, u64 rate, int kappa, i64 *hist) {
    Rng g = seeded(seed);
    for (i64 w = 0; w < windows; w++) {
        int a = 0;
        while (a < kappa && next(&g) < rate) a++;
        hist[a]++;
    }
}

void loop_markov(u64 seed, i64 windows, u64 after_reject, u64 after_accept, int kappa, i64 *hist) {
    Rng g = seeded(seed);
    u64 rate = after_reject;
    for (i64 w = 0; w < windows; w++) {
        int a = 0;
        while (a < kappa && next(&g) < rate) a++, rate = after_accept;
        rate = a == kappa ? after_accept : after_reject; /* the outcome of the last draft */
        hist[a]++;
    }
}

void loop_drift(u64 seed, i64 generations, int tokens, const u64 *rates, int kappa, i64 *hist) {
    Rng g = seeded(seed);
    for (i64 q = 0; q < generations; q++)
        for (int t = 0; t < tokens;) {
            int drafted = kappa < tokens - 1 - t ? kappa : tokens - 1 - t, a = 0;
            while (a < drafted && next(&g) < rates[t + a]) a++;
            hist[a]++;
            t += a + 1;
        }
}

/* One rate per request; the caller draws them. */
void loop_requests(u64 seed, i64 requests, int tokens, const u64 *rates, int kappa, i64 *hist) {
    Rng g = seeded(seed);
    for (i64 q = 0; q < requests; q++)
        for (int t = 0; t < tokens;) {
            int drafted = kappa < tokens - 1 - t ? kappa : tokens - 1 - t, a = 0;
            while (a < drafted && next(&g) < rates[q]) a++;
            hist[a]++;
            t += a + 1;
        }
}

/* Outcome in the present regime, then a move; move[s] holds the cumulative thresholds of 3 regimes without the last. */
void loop_hmm(u64 seed, i64 windows, const u64 *rates, const u64 (*move)[2], int kappa, i64 *hist) {
    Rng g = seeded(seed);
    int s = 0;
    for (i64 w = 0; w < windows; w++) {
        int a = 0;
        while (a < kappa) {
            int accepted = next(&g) < rates[s];
            u64 x = next(&g);
            s = (x >= move[s][0]) + (x >= move[s][1]);
            if (!accepted) break;
            a++;
        }
        hist[a]++;
    }
}

/* A walk through a token tree: children of node n are first[n] … first[n + 1] - 1, with cumulative 64-bit thresholds. */
void loop_tree(u64 seed, i64 rounds, const int32_t *first, const int32_t *child, const u64 *below, const int32_t *depth,
               i64 *hist) {
    Rng g = seeded(seed);
    for (i64 r = 0; r < rounds; r++) {
        int node = 0;
        for (;;) {
            int at = first[node], end = first[node + 1];
            if (at == end) break;
            u64 word = next(&g);
            while (at < end && word >= below[at]) at++;
            if (at == end) break;
            node = child[at];
        }
        hist[depth[node]]++;
    }
}

/* ------------------------- token loops whose kappa a policy may set per round */

static inline int follow(int adapt, int kappa, int full) {
    if (!adapt) return kappa;
    kappa = full ? kappa + 2 : kappa - 1;
    return kappa < 1 ? 1 : kappa > LONGEST ? LONGEST : kappa;
}

void policy_iid(u64 seed, i64 windows, u64 rate, int kappa, int adapt, i64 *hist) {
    Rng g = seeded(seed);
    for (i64 w = 0; w < windows; w++) {
        int a = 0;
        while (a < kappa && next(&g) < rate) a++;
        hist[kappa * WIDE + a]++;
        kappa = follow(adapt, kappa, a == kappa);
    }
}

void policy_markov(u64 seed, i64 windows, u64 after_reject, u64 after_accept, int kappa, int adapt, i64 *hist) {
    Rng g = seeded(seed);
    u64 rate = after_reject;
    for (i64 w = 0; w < windows; w++) {
        int a = 0;
        while (a < kappa && next(&g) < rate) a++, rate = after_accept;
        rate = a == kappa ? after_accept : after_reject;
        hist[kappa * WIDE + a]++;
        kappa = follow(adapt, kappa, a == kappa);
    }
}

void policy_drift(u64 seed, i64 generations, int tokens, const u64 *rates, int start, int adapt, i64 *hist) {
    Rng g = seeded(seed);
    for (i64 q = 0; q < generations; q++) {
        int kappa = start;
        for (int t = 0; t < tokens;) {
            int drafted = kappa < tokens - 1 - t ? kappa : tokens - 1 - t, a = 0;
            while (a < drafted && next(&g) < rates[t + a]) a++;
            hist[drafted * WIDE + a]++;
            kappa = follow(adapt, kappa, a == drafted);
            t += a + 1;
        }
    }
}

/* -------------------------------------------------------------- SIMD lanes */

#ifndef BYTES /* of a vector; -DBYTES=32 asks for the narrower kind where both exist */
#if defined(__AVX512F__)
#define BYTES 64
#else
#define BYTES 32
#endif
#endif

typedef u64 V64 __attribute__((vector_size(BYTES)));
typedef int32_t V32 __attribute__((vector_size(BYTES)));

#define LANES (BYTES / 4)         /* windows per vector */
#define SIDE 4                    /* generators run as SIDE vectors */
#define WINDOWS 4096              /* per buffer: 16 KiB, stays in the first-level cache */
#define VECTORS (WINDOWS / LANES)

int vector_bytes(void) { return BYTES; }
int windows_per_buffer(void) { return WINDOWS; }

typedef struct { V64 a[SIDE], b[SIDE], c[SIDE], d[SIDE]; } Lanes;

static void seed_lanes(u64 seed, Lanes *g) {
    u64 *words = (u64 *)g;
    for (unsigned i = 0; i < sizeof *g / sizeof *words; i++) words[i] = splitmix(&seed);
}

static void fill(Lanes *lanes, V64 *out) {
    Lanes g = *lanes;
    for (int i = 0; i < VECTORS; i += SIDE)
        for (int j = 0; j < SIDE; j++) {
            V64 sum = g.a[j] + g.d[j], t = g.b[j] << 17;
            out[i + j] = ROTL(sum, 23) + g.a[j];
            g.c[j] ^= g.a[j], g.d[j] ^= g.b[j], g.b[j] ^= g.c[j], g.a[j] ^= g.d[j], g.c[j] ^= t;
            g.d[j] = ROTL(g.d[j], 45);
        }
    *lanes = g;
}

static inline V32 all(int32_t x) { return (V32){0} + x; }

static inline i64 total(V32 c) {
    i64 sum = 0;
    for (int l = 0; l < LANES; l++) sum += c[l];
    return sum;
}

/* c + 1 in the lanes where x < t.  A comparison of plain vectors is -1 where true; 512-bit vectors have mask registers,
   and GCC 12 does not find the masked addition by itself. */
static inline V32 count(V32 c, V32 x, V32 t) {
#if BYTES == 64 && defined(__AVX512F__)
    __mmask16 below = _mm512_cmplt_epi32_mask((__m512i)x, (__m512i)t);
    return (V32)_mm512_mask_sub_epi32((__m512i)c, below, (__m512i)c, _mm512_set1_epi32(-1));
#else
    return c - (x < t);
#endif
}

/* survivors[j] = windows that accept more than j drafts -> histogram of accepted lengths */
static void differences(i64 windows, const i64 *survivors, int kappa, i64 *hist) {
    for (int j = 0; j <= kappa; j++) hist[j] += (j ? survivors[j - 1] : windows) - (j < kappa ? survivors[j] : 0);
}

#define MOST 64 /* thresholds */

/* Thresholds of one law, the last repeated up to a multiple of 4; a histogram has no use for the surplus counts. */
static void padded(const int32_t *thresholds, int kappa, int32_t *out) {
    for (int j = 0; j < MOST; j++) out[j] = thresholds[j < kappa ? j : kappa - 1];
}

/* survivors[0..3] += words below each of four thresholds; a word is loaded once for all four. */
static void count_four(const V32 *x, const int32_t *t, i64 *survivors) {
    V32 t0 = all(t[0]), t1 = all(t[1]), t2 = all(t[2]), t3 = all(t[3]), c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0};
    for (int i = 0; i < VECTORS; i++)
        c0 = count(c0, x[i], t0), c1 = count(c1, x[i], t1), c2 = count(c2, x[i], t2), c3 = count(c3, x[i], t3);
    survivors[0] += total(c0), survivors[1] += total(c1), survivors[2] += total(c2), survivors[3] += total(c3);
}

void simd_iid(u64 seed, i64 buffers, const int32_t *thresholds, int kappa, i64 *hist) {
    V64 words[VECTORS];
    i64 survivors[MOST] = {0};
    int32_t t[MOST];
    Lanes g;
    seed_lanes(seed, &g);
    padded(thresholds, kappa, t);
    for (i64 r = 0; r < buffers; r++) {
        fill(&g, words);
        for (int j = 0; j < kappa; j += 4) count_four((const V32 *)words, t + j, survivors + j);
    }
    differences(buffers * WINDOWS, survivors, kappa, hist);
}

#if BYTES == 64 && defined(__AVX512F__)
typedef __mmask16 State; /* one bit per chain: did its last draft survive? */
static inline State below(V32 x, V32 t) { return _mm512_cmplt_epi32_mask((__m512i)x, (__m512i)t); }
static inline V32 choose(State s, V32 yes, V32 no) { return (V32)_mm512_mask_blend_epi32(s, (__m512i)no, (__m512i)yes); }
#else
typedef V32 State;
static inline State below(V32 x, V32 t) { return x < t; }
static inline V32 choose(State s, V32 yes, V32 no) {
#if BYTES == 32 && defined(__AVX2__)
    return (V32)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, (__m256i)s);
#else
    return no ^ ((no ^ yes) & s);
#endif
}
#endif

#define CHAINS 64
#define GROUP (CHAINS / LANES)

/* As count_four, with thresholds that depend on the state in which the window started. */
static void count_four_by_state(const V32 *x, const State *s, const int32_t *no, const int32_t *yes, i64 *survivors) {
    V32 n0 = all(no[0]), n1 = all(no[1]), n2 = all(no[2]), n3 = all(no[3]);
    V32 y0 = all(yes[0]), y1 = all(yes[1]), y2 = all(yes[2]), y3 = all(yes[3]);
    V32 c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0};
    for (int i = 0; i < VECTORS; i++) {
        c0 = count(c0, x[i], choose(s[i], y0, n0)), c1 = count(c1, x[i], choose(s[i], y1, n1));
        c2 = count(c2, x[i], choose(s[i], y2, n2)), c3 = count(c3, x[i], choose(s[i], y3, n3));
    }
    survivors[0] += total(c0), survivors[1] += total(c1), survivors[2] += total(c2), survivors[3] += total(c3);
}

/* 64 chains in lanes.  A window is full, so that the next starts after an acceptance, if its word lies below the last
   threshold of its state: the first pass carries only that.  The second pass has no chain left in it. */
void simd_markov(u64 seed, i64 buffers, const int32_t *after_reject, const int32_t *after_accept, int kappa, i64 *hist) {
    V64 words[VECTORS];
    State state[VECTORS];
    V32 last0 = all(after_reject[kappa - 1]), last1 = all(after_accept[kappa - 1]);
    const V32 *x = (const V32 *)words;
    int32_t no[MOST], yes[MOST];
    i64 survivors[MOST] = {0};
    State now[GROUP];
    Lanes g;
    seed_lanes(seed, &g);
    padded(after_reject, kappa, no), padded(after_accept, kappa, yes);
    memset(now, 0, sizeof now);
    for (i64 r = -1; r < buffers; r++) { /* buffer -1 forgets the start */
        fill(&g, words);
        for (int i = 0; i < VECTORS; i += GROUP)
            for (int l = 0; l < GROUP; l++) {
                state[i + l] = now[l];
                now[l] = below(x[i + l], choose(now[l], last1, last0));
            }
        for (int j = 0; j < kappa && r >= 0; j += 4) count_four_by_state(x, state, no + j, yes + j, survivors + j);
    }
    differences(buffers * WINDOWS, survivors, kappa, hist);
}

/* ------------------------- kappa by a rolling estimate of the verdicts: lengths by cell, {smoothing, first estimate} */

void policy_rolling(u64 seed, i64 windows, u64 after_reject, u64 after_accept, int kappa, const int32_t *lengths, int cells,
                    const double *numbers, i64 *hist) {
    Rng g = seeded(seed);
    u64 rate = after_reject;
    double smoothing = numbers[0], estimate = numbers[1];
    for (i64 w = 0; w < windows; w++) {
        int a = 0;
        while (a < kappa) {
            int accepted = next(&g) < rate;
            estimate = smoothing * estimate + (1.0 - smoothing) * accepted;
            rate = accepted ? after_accept : after_reject;
            if (!accepted) break;
            a++;
        }
        hist[kappa * WIDE + a]++;
        kappa = lengths[(int)(estimate * cells)];
    }
}

void policy_rolling_drift(u64 seed, i64 generations, int tokens, const u64 *rates, int start, const int32_t *lengths,
                          int cells, const double *numbers, i64 *hist) {
    Rng g = seeded(seed);
    double smoothing = numbers[0];
    for (i64 q = 0; q < generations; q++) {
        int kappa = start;
        double estimate = numbers[1];
        for (int t = 0; t < tokens;) {
            int drafted = kappa < tokens - 1 - t ? kappa : tokens - 1 - t, a = 0;
            while (a < drafted) {
                int accepted = next(&g) < rates[t + a];
                estimate = smoothing * estimate + (1.0 - smoothing) * accepted;
                if (!accepted) break;
                a++;
            }
            hist[drafted * WIDE + a]++;
            kappa = lengths[(int)(estimate * cells)];
            t += a + 1;
        }
    }
}
