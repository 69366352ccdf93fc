from __future__ import annotations

import os

import pytest

from unblot import threads


@pytest.mark.parametrize(("there", "used"), [(1, 1), (2, 2), (64, threads.MOST)])
def test_no_more_threads_than_help(there, used, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(there)))
    for name in threads.POOLS:
        monkeypatch.delenv(name, raising=False)
    threads.limit_pools()
    assert threads.processors() == used
    assert {os.environ[name] for name in threads.POOLS} == {str(used)}


def test_how_many_threads_somebody_asked_for_is_left_alone(monkeypatch):
    for name in threads.POOLS:
        monkeypatch.setenv(name, "3")
    threads.limit_pools()
    assert {os.environ[name] for name in threads.POOLS} == {"3"}


def test_work_side_by_side_keeps_its_order():
    assert threads.side_by_side(lambda x: x * x, range(50)) == [x * x for x in range(50)]
