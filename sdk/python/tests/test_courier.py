"""How long the client waits before it sends again: never all clients at the same moment."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from conftest import quick
from remembrancer import Limits
from remembrancer.courier import Courier, pause_seconds
from remembrancer.transport import TransportError

LIMITS = Limits(retry_seconds_first=1.0, retry_seconds_max=30.0)


def test_a_pause_is_drawn_from_a_range_that_doubles_up_to_its_bound() -> None:
    asked: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        asked.append((low, high))
        return (low + high) / 2

    pauses = [pause_seconds(LIMITS, "later", attempt, draw) for attempt in (0, 1, 2, 3, 4, 5, 1000)]
    assert asked == [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 30), (0, 30)]
    assert pauses == [0.5, 1, 2, 4, 8, 15, 15]


def test_a_wrong_key_is_tried_again_seldom_and_not_by_all_at_once() -> None:
    asked: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        asked.append((low, high))
        return low

    assert [pause_seconds(LIMITS, "refused_here", attempt, draw) for attempt in (0, 9)] == [15, 15]
    assert asked == [(15, 30), (15, 30)]


@pytest.mark.parametrize("attempt", [0, 3, 8])
def test_clients_that_failed_together_come_back_apart(attempt: int) -> None:
    clients = 400
    pauses = sorted(pause_seconds(LIMITS, "later", attempt) for _ in range(clients))
    bound = min(30.0, 2.0**attempt)
    assert pauses[0] >= 0
    assert pauses[-1] <= bound
    # They fill the range: no tenth of it is empty, and none holds a third of them.
    tenths = [sum(tenth == min(9, int(10 * pause / bound)) for pause in pauses) for tenth in range(10)]
    assert min(tenths) > 0
    assert max(tenths) < clients / 3


class Waits(threading.Event):
    """An event that is never set, and notes how long it was waited for instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(timeout)
        return False


def failing(limits: Limits, failure: TransportError) -> tuple[Courier, Waits, Waits]:
    nothing: Any = None
    courier = Courier(nothing, nothing, nothing, limits, nothing)
    stop, nudge = Waits(), Waits()
    courier.stop, courier.nudge = stop, nudge
    courier._failure = failure
    return courier, stop, nudge


def test_what_the_recorder_asks_for_is_waited_for_and_a_little_longer_by_chance() -> None:
    limits = quick(retry_after_seconds_max=60.0)
    courier, stop, _ = failing(limits, TransportError("later", "busy", 10.0))
    for _ in range(200):
        courier._pause()
    assert min(stop.seconds) >= 10
    assert max(stop.seconds) <= 11
    assert max(stop.seconds) - min(stop.seconds) > 0.5
    # An hour is not waited for, however the recorder asks.
    courier, stop, _ = failing(limits, TransportError("later", "busy", 3600.0))
    courier._pause()
    assert 60 <= stop.seconds[0] <= 66


def test_clients_of_a_recorder_that_went_away_come_back_apart_and_ever_later() -> None:
    limits = Limits(retry_seconds_first=0.5, retry_seconds_max=4.0)
    waited: list[list[float]] = [[], [], [], [], []]
    for _ in range(200):
        courier, stop, nudge = failing(limits, TransportError("later", "down"))
        for _ in waited:
            courier._pause()
        # A short wait that nothing but the end cuts short, then the one that is drawn.
        assert stop.seconds == [0.25] * len(waited)
        for attempt, seconds in zip(waited, nudge.seconds, strict=True):
            attempt.append(seconds)
    for attempt, bound in zip(waited, (0.5, 1, 2, 4, 4), strict=True):
        assert max(attempt) <= bound
        assert max(attempt) - min(attempt) > bound / 2
