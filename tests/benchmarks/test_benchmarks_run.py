"""Every row of the benchmarks runs, at a tiny size; the peers, which the tests do not install, stay out."""

import json

import pytest

from benchmarks import _report
from benchmarks._comparison import Comparison, Rival, at_least, at_most, measure
from benchmarks._measure import Effort, Spread, cpu_time, interleave, memory
from benchmarks._profile import hot_spots
from benchmarks.rows import GROUPS

TINY = Effort(rounds=2, scale=0.001)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_every_contender_at_home_runs_and_every_row_can_say_where_its_time_goes(group):
    rows = set()
    for comparison in group.comparisons(TINY):
        home = [rival.prepare() for rival in comparison.rivals if rival.peer is None]
        assert all(isinstance(cost(), float) for cost in [comparison.ours, *home])
        assert comparison.why()
        rows |= {rival.row for rival in comparison.rivals}
    assert rows == group.ROWS


def _comparison(ours, rival, goal):
    return Comparison("work", lambda: ours, [Rival(1, "other", goal, lambda: lambda: rival)], lambda: "why")


@pytest.mark.parametrize(
    ("ours", "rival", "goal", "ratio", "is_met"),
    [
        (2.0, 8.0, at_least(3), 4.0, True),
        (2.0, 4.0, at_least(3), 2.0, False),
        (3.0, 2.0, at_most(1.5), 1.5, True),
        (4.0, 2.0, at_most(1.5), 2.0, False),
    ],
)
def test_a_goal_is_met_by_a_ratio_on_its_side_of_the_bound(ours, rival, goal, ratio, is_met):
    [result] = measure(_comparison(ours, rival, goal), frozenset({1}), rounds=3)
    assert (result.reached.median, result.is_met) == (ratio, is_met)
    assert result.why == (None if is_met else "why")


def test_rivals_of_other_rows_are_not_even_prepared():
    def refuse():
        raise AssertionError

    comparison = Comparison("work", lambda: 1.0, [Rival(2, "other", at_least(1), refuse)], lambda: "why")
    assert list(measure(comparison, frozenset({1}), rounds=2)) == []


def test_a_round_measures_each_contender_once_and_the_first_round_is_warm_up():
    order = []

    def contender(name):
        def cost():
            order.append(name)
            return float(len(order))

        return cost

    assert interleave([contender("a"), contender("b")], rounds=2) == [[3.0, 6.0], [4.0, 5.0]]
    assert order == ["b", "a", "a", "b", "b", "a"]


def test_the_quartiles_are_those_of_the_rounds():
    assert Spread.of([5.0, 1.0, 4.0, 2.0, 3.0]) == Spread(2.0, 3.0, 4.0)


def test_time_is_the_mean_of_the_runs():
    runs = []
    assert cpu_time(lambda: runs.append(None), times=5)() >= 0
    assert len(runs) == 5


def test_memory_is_what_stays_with_the_result():
    assert 1000 <= memory(lambda: bytes(1000), times=10)() < 1100


def test_hot_spots_name_functions_without_the_path_of_the_machine():
    def busy():
        return sorted(range(1000), key=str)

    report = hot_spots(busy)
    assert "test_benchmarks_run.py" in report
    assert "/home" not in report
    assert str(__file__) not in report


def test_the_table_says_what_was_missed_and_why():
    [result] = measure(_comparison(2.0, 4.0, at_least(3)), frozenset({1}), rounds=2)
    assert _report.line(result) == "| 1 | work | other | ≥ 3× | **2** | 2 – 2 | **no** |"
    [reason] = _report.reasons([result])
    assert "why" in reason


def test_saving_replaces_the_table_and_leaves_what_stands_above_it(tmp_path, monkeypatch):
    monkeypatch.setattr(_report, "_HERE", tmp_path)
    monkeypatch.setattr(_report, "_PACKAGES", ("attrs",))
    readme = tmp_path / "README.md"
    readme.write_text(f"how\n{_report._MARK}\nan older table\n")
    results = list(measure(_comparison(2.0, 8.0, at_least(3)), frozenset({1}), rounds=2))
    _report.save(results, "the command")
    text = readme.read_text()
    assert text.startswith(f"how\n{_report._MARK}")
    assert "`the command`, 2 rounds" in text
    assert _report.line(results[0]) in text
    assert "older" not in text
    assert "Short of the goal" not in text
    assert json.loads((tmp_path / "results.json").read_text())["results"][0]["reached"]["median"] == 4.0
