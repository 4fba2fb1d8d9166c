"""Time and bytes of an exchange among p ranks, from messages in sequence, bytes and additions.

Latency alpha per message, bytes over the bandwidth, gamma per byte added up: Hockney's model with
additions, as in Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations
in MPICH", 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    alpha_us: float
    bytes_per_us: float
    gamma_us: float  # per byte that is added up
    call_us: float = 0.0  # per exchange, whatever the ranks


@dataclass(frozen=True)
class Cost:
    """hops, path: messages and bytes that follow one another; sent: what the busiest rank sends."""

    hops: int
    path: float
    added: float
    sent: float

    def us(self, link: Link) -> float:
        return (
            link.call_us
            + self.hops * link.alpha_us
            + self.path / link.bytes_per_us
            + self.added * link.gamma_us
        )


def log2_floor(p: int) -> int:
    return p.bit_length() - 1


def log2_ceil(p: int) -> int:
    return (p - 1).bit_length()


def gloo_ring(p: int, n: int, width: int) -> Cost:
    """gloo's ring (gloo/allreduce.cc): reduce-scatter, then all-gather, p - 1 hops each.

    A chunk per rank, in two segments of at least one number: of fewer than 2p numbers some chunks
    are empty and are not sent, but the others still pass every rank, one after the other.
    """
    chunk = min(2 * -(-n // (2 * p)), n)
    last = max(0, n - (p - 1) * chunk)  # of the rank that has least
    hop = chunk * width
    return Cost(2 * (p - 1), 2 * (p - 1) * hop, (p - 1) * hop, 2 * (n - last) * width)


def tree(p: int, n: int, width: int) -> Cost:
    """Binomial tree: reduce to one rank, broadcast from it."""
    depth, m = log2_ceil(p), n * width
    return Cost(2 * depth, 2 * depth * m, depth * m, depth * m)


def recursive_doubling(p: int, n: int, width: int) -> Cost:
    """Pairs at distance 1, 2, 4; ranks beyond a power of two hand in before, are told after."""
    depth, m = log2_floor(p), n * width
    rest = p != 1 << depth
    return Cost(depth + 2 * rest, (depth + 2 * rest) * m, (depth + rest) * m, (depth + rest) * m)


def rabenseifner(p: int, n: int, width: int) -> Cost:
    """Reduce-scatter by recursive halving, all-gather by recursive doubling."""
    depth, m = log2_floor(p), n * width
    rest = p != 1 << depth
    half = m * (1 - 1 / (1 << depth))
    return Cost(2 * depth + 2 * rest, 2 * half + 2 * rest * m, half + rest * m, 2 * half + rest * m)


def ring_or_doubling(p: int, n: int, width: int) -> Cost:
    """Open MPI's ring, which leaves fewer numbers than ranks to recursive doubling."""
    if n < p:
        return recursive_doubling(p, n, width)
    hop = -(-n // p) * width
    return Cost(2 * (p - 1), 2 * (p - 1) * hop, (p - 1) * hop, 2 * (p - 1) * hop)


def gather(hops: int, p: int, n: int, width: int) -> Cost:
    """Every all-gather sends the p - 1 messages of the others' somewhere; they differ in hops."""
    return Cost(hops, (p - 1) * n * width, 0, (p - 1) * n * width)


def ring_gather(p: int, n: int, width: int) -> Cost:
    return gather(p - 1, p, n, width)


def doubling_gather(p: int, n: int, width: int) -> Cost:
    """Recursive doubling; Bruck, where p is no power of two."""
    return gather(log2_ceil(p), p, n, width)


def neighbour_gather(p: int, n: int, width: int) -> Cost:
    """Neighbour exchange: two messages at a time; ring, where p is odd."""
    return gather(p - 1 if p % 2 else p // 2, p, n, width)


# Open MPI's decisions (coll_tuned_decision_fixed.c): ranks below, then (bytes below, algorithm) in
# order. 0: no limit. Sizes that no layer has are left out of the all-gather.
Algorithm = Callable[[int, int, int], Cost]
Decision = list[tuple[int, list[tuple[int, Algorithm]]]]
_R, _D, _T, _B = ring_or_doubling, recursive_doubling, tree, rabenseifner
MPI_ALL_REDUCE: Decision = [
    (4, [(8, _R), (4096, _D), (8192, _R), (16384, _D), (262144, _R), (0, _B)]),
    (8, [(16, _R), (8192, _D), (0, _B)]),
    (16, [(8192, _D), (0, _B)]),
    (32, [(64, _R), (4096, _D), (0, _B)]),
    (64, [(128, _R), (0, _B)]),
    (128, [(262144, _D), (0, _B)]),
    (256, [(131072, _T), (262144, _D), (0, _B)]),
    (512, [(4096, _T), (0, _B)]),
    (2048, [(2048, _T), (16384, _D), (0, _B)]),
    (4096, [(2048, _T), (4096, _R), (16384, _D), (0, _B)]),
    (0, [(2048, _T), (16384, _R), (32768, _D), (0, _B)]),
]
_G, _L, _N = ring_gather, doubling_gather, neighbour_gather
MPI_ALL_GATHER: Decision = [
    (32, [(0, _L)]),
    (64, [(1024, _L), (65536, _N), (0, _G)]),
    (128, [(512, _L), (65536, _N), (0, _G)]),
    (256, [(512, _L), (131072, _N), (524288, _G), (1048576, _N), (0, _G)]),
    (512, [(1024, _L), (131072, _N), (524288, _G), (1048576, _N), (0, _G)]),
    (1024, [(2048, _L), (0, _N)]),
    (0, [(4096, _L), (0, _N)]),
]


def decided(decision: Decision, p: int, m: int) -> Algorithm:
    by_bytes = next(rules for ranks, rules in decision if p < ranks or ranks == 0)
    return next(algorithm for limit, algorithm in by_bytes if m < limit or limit == 0)


def mpi_all_reduce(p: int, n: int, width: int) -> Cost:
    return decided(MPI_ALL_REDUCE, p, n * width)(p, n, width)


def mpi_all_gather(p: int, n: int, width: int) -> Cost:
    return decided(MPI_ALL_GATHER, p, n * width)(p, n, width)


@dataclass(frozen=True)
class Way:
    """Of one layer's exchange. digits: numbers beside two sums per channel (the count)."""

    name: str
    cost: Algorithm
    digits: int
    in_rank_order: bool = False

    def of(self, p: int, channels: int, width: int = 8) -> Cost:
        return self.cost(p, 2 * channels + self.digits, width)


# torch keeps the count of the forward pass; normgrad/sync_batch_norm.h sends it, in four digits.
GLOO, GLOO_ORDER = Way("gloo ring", gloo_ring, 0), Way("gloo, rank order", ring_gather, 0, True)
TREE = Way("tree", tree, 4)
MPI = Way("Open MPI", mpi_all_reduce, 4)
MPI_ORDER = Way("Open MPI, rank order", mpi_all_gather, 4, True)
WAYS = (GLOO, TREE, MPI, GLOO_ORDER, MPI_ORDER)
