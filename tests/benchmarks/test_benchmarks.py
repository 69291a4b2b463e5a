"""The benchmarks measure, judge, and write their page; how fast anything is, is not tested here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from benchmarks.measure import Claim, Figure, Suite

from benchmarks import __main__ as command
from benchmarks import page, plots


def suite(ratio: float = 1.0, limit: float | None = 2.0, plot: str = "bars") -> Suite:
    floor = Figure("floor: 1", [1.0, 2.0, 1.5])
    ours = Figure("fairlead <hook>: 1", [ratio * time for time in floor.times])
    return Suite(
        "one & all", 1e3, "ms", [floor, ours], [Claim("ours, against the floor", ours, floor, limit)], plot=plot
    )


def record(**fields: Any) -> list[page.Record]:
    return page.as_record([suite(**fields)])


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        pytest.param({"ratio": 1.1}, {"ratio": 1.0}, "", id="as before"),
        pytest.param({"ratio": 1.2}, {"ratio": 1.0}, "it was 1.00", id="more than 15 % worse"),
        pytest.param({"ratio": 2.1}, {"ratio": 2.1}, "its limit is 2.00", id="over its limit"),
        pytest.param({"ratio": 9.0, "limit": None}, {"ratio": 9.0}, "", id="without a limit"),
        pytest.param({"ratio": 9.0, "limit": None}, {"ratio": 7.0}, "it was 7.00", id="without a limit, and worse"),
        pytest.param({"ratio": 0.5}, {"ratio": 1.0}, "", id="better"),
    ],
)
def test_a_ratio_is_judged_by_its_limit_and_by_what_it_was(
    now: dict[str, Any], before: dict[str, Any], expected: str
) -> None:
    found = page.troubles(record(**now), record(**before))
    assert bool(found) == bool(expected)
    assert expected in "".join(found)


def test_a_claim_that_is_new_has_no_past() -> None:
    assert page.troubles(record(ratio=1.9), []) == []


@pytest.mark.parametrize("kind", ["bars", "lines"])
@pytest.mark.parametrize("values", [(1.0, 1.2), (0.001, 900.0)], ids=["near", "far apart"])
def test_a_plot_is_svg_with_a_name_for_each_figure(kind: str, values: tuple[float, float]) -> None:
    rows = [{"name": f"a <b>{n}: 1", "median": value, "quartiles": [value, value]} for n, value in enumerate(values)]
    text = plots.drawing("one & all", "ms", rows, kind)
    drawn = "".join(ET.fromstring(text).itertext())
    assert "a <b>0" in drawn
    assert "a <b>1" in drawn
    assert "prefers-color-scheme" in text


def test_the_page_shows_what_was_measured_and_keeps_the_rest(tmp_path: Path) -> None:
    docs, recorded = tmp_path / "docs", tmp_path / "recorded.json"
    page.write({"a": record(ratio=3.0), "b": record(plot="lines")}, ["a", "b"], recorded, docs)
    page.write({**page.read(recorded), "b": record(limit=None)}, ["a", "b"], recorded, docs)
    text = (docs / "benchmarks.md").read_text()
    assert "**broken**" in text
    assert "watched" in text
    assert "- ours, against the floor: 3.00, limit 2.00" in text
    images = {image.name for image in (docs / "images").iterdir()}
    assert images == {f"benchmarks-{name}-one-all.svg" for name in "ab"}
    assert all(f"images/{name}" in text for name in images)


def test_a_run_measures_writes_and_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded, places = tmp_path / "recorded.json", ["--recorded", str(tmp_path / "recorded.json")]
    places += ["--docs", str(tmp_path)]
    assert command.main(["functions", "--rounds", "2", "--write", *places]) == 0
    assert "async function hooks" in capsys.readouterr().out
    kept = json.loads(recorded.read_text())
    assert set(kept) == {"functions"}
    assert "async function hooks" in (tmp_path / "benchmarks.md").read_text()
    monkeypatch.setitem(command.RUNS, "functions", command.Run(lambda _: [suite(ratio=3.0)], 2, 2))
    assert command.main(["functions", "--check", *places]) == 1
    assert "its limit is 2.00" in capsys.readouterr().err


def test_the_whole_way_through_a_server_is_measured() -> None:
    from benchmarks import growth

    (memory,) = growth.run_memory(20)
    assert [figure.median > 0 for figure in memory.figures] == [True] * 10


def test_a_name_that_is_unknown_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["nothing"]) == 2
    assert "no benchmark is called nothing" in capsys.readouterr().err
