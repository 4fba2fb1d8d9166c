"""From times to the numbers of a row: medians, fraction of the limit, speed-up."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEAST_ROUNDS = 7  # a median is taken of at least so many
TWO_PASSES = "two passes, "  # how the name of a limit begins that reads the inputs twice


@dataclass(frozen=True)
class Sample:
    us: float
    disturbed: bool = False  # the kernel took a processor away meanwhile


def median(samples: Sequence[Sample]) -> Sample:
    """Of the undisturbed samples if there are enough of them, else of all."""
    quiet = [sample.us for sample in samples if not sample.disturbed]
    if len(quiet) >= LEAST_ROUNDS:
        return Sample(statistics.median(quiet))
    return Sample(statistics.median(sample.us for sample in samples), disturbed=True)


def best(variants: Mapping[str, Sequence[Sample]]) -> tuple[str, Sample]:
    """The way of doing it with the smallest median."""
    medians = {name: median(samples) for name, samples in variants.items()}
    name = min(medians, key=lambda each: medians[each].us)
    return name, medians[name]


def without_prefix(
    variants: Mapping[str, Sequence[Sample]], prefix: str, having: bool
) -> dict[str, Sequence[Sample]]:
    """Those whose names have the prefix, without it; or those that do not have it."""
    return {
        name.removeprefix(prefix): samples
        for name, samples in variants.items()
        if name.startswith(prefix) == having
    }


def row_numbers(
    limit: Mapping[str, Sequence[Sample]],
    ours: Mapping[str, Sequence[Sample]],
    peers: Mapping[str, Mapping[str, Sequence[Sample]]],
) -> dict[str, Any]:
    """The measured part of a row of the JSON file, with the names of normgrad_bench."""
    limit_stores, limit_time = best(without_prefix(limit, TWO_PASSES, False))
    two_passes = without_prefix(limit, TWO_PASSES, True)
    _, ours_time = best(ours)
    peer_times = {name: best(variants)[1] for name, variants in peers.items()}
    fastest = min(peer_times, key=lambda name: peer_times[name].us, default=None)
    times = [limit_time, ours_time, *peer_times.values()]
    return {
        "limit_us": round(limit_time.us, 3),
        "limit_stores": limit_stores,
        "two_pass_limit_us": round(best(two_passes)[1].us, 3) if two_passes else None,
        "ours_us": round(ours_time.us, 3),
        "fraction": round(limit_time.us / ours_time.us, 4),
        "peers": {name: round(time.us, 3) for name, time in peer_times.items()},
        "fastest_peer": fastest,
        "speedup": round(peer_times[fastest].us / ours_time.us, 3) if fastest else None,
        "disturbed": any(time.disturbed for time in times),
    }
