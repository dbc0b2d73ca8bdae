"""The page of a result: whole, harmless, offline, the same every time, and holding the numbers it draws."""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import simspec
from simspec.model import DatasetError, SimspecError

pytest.importorskip("matplotlib")

from simspec.claims.witness import tally
from simspec.report import report
from simspec.report.points import points
from simspec.report.select import choose

VOID = {"meta", "link", "br", "img", "hr", "col", "input", "wbr", "source", "area", "base", "embed", "track", "param"}
HOSTILE = '$\\frac{a}$ <script>alert(1)</script><img src=x onerror=y> & "q" id="x" \x1b[31m\u202e漢'
CONSTRUCTIONS = [
    {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": ["stationary", "carry"]},
    {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry", "steps_after_full": 2},
    {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry", "steps_after_reject": 2, "steps_after_full": 2},
    {"type": "hmm", "P": [[0.9, 0.1], [0.1, 0.9]], "alphas": [0.9806, 0.4194]},
    {"type": "iid", "alpha": 0.7},
]


class Page(HTMLParser):
    """Reads a page, insists that every element is closed, and keeps what the tests ask about."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.ids, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self._seen(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._seen(tag, attrs)

    def _seen(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append((self.open[-1], data))

    def inside(self, *tags):
        return " ".join(text for tag, text in self.texts if tag in tags)

    @property
    def text(self):
        return " ".join(text for _, text in self.texts).replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def claims(place):
    return simspec.validate(quick=True, output=place / "claims", threads=2)


@pytest.fixture(scope="module")
def sweep(place):
    table = {
        "name": "chains",
        "windows": 50_000,
        "kappa": list(range(9)),
        "process": CONSTRUCTIONS,
        "cost": {"c_d": 0.1},
    }
    return simspec.sweep(table, output=place / "chains", threads=2)


@pytest.fixture(scope="module")
def pages(place, claims, sweep):
    made = {"claims": claims.path, "chains": sweep.path}
    return {name: report(folder, place / f"{name}.html").read_text(encoding="utf-8") for name, folder in made.items()}


@pytest.mark.parametrize("name", ["claims", "chains"])
def test_a_page_is_whole_and_leads_nowhere(pages, name):
    text = pages[name]
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert ("html", "lang", "en") in page.attributes
    assert not {"script", "iframe", "object", "embed", "img", "image", "foreignobject", "base", "form"} & set(page.tags)
    for tag, attribute, value in page.attributes:
        assert not attribute.startswith("on"), (tag, attribute)
        if attribute in ("src", "href", "xlink:href", "action", "srcset"):
            assert value.startswith("#") or (tag, value) == ("link", "data:,"), (tag, attribute, value)
        if attribute == "style":
            assert "url(" not in value.replace("url(#", "")
    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert "@font-face" not in text
    assert len(text.encode()) < 2_000_000


@pytest.mark.parametrize("name", ["claims", "chains"])
def test_every_figure_has_a_title_and_ids_are_unique(pages, name):
    text = pages[name]
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    figures = page.tags.count("svg")
    assert figures > 8
    assert page.attributes.count(("svg", "role", "img")) == figures
    named = [value for tag, attribute, value in page.attributes if (tag, attribute) == ("svg", "aria-labelledby")]
    assert len(named) == figures
    assert set(named) <= set(page.ids)
    targets = [value[1:] for _, attribute, value in page.attributes if attribute == "href" and value.startswith("#")]
    targets += re.findall(r"url\(#([^)]+)\)", text)
    assert set(targets) <= set(page.ids)


def test_a_claims_page_says_all_the_verdicts(pages, claims):
    page = Page(pages["claims"])
    for sentence, command in claims.sentences:
        assert sentence in page.text
        assert command in page.text
    for row in claims.rows:
        for key in ("id", "reading", "statement", "instead", "verdict"):
            assert row[key] in page.text
        for value in (row["exact"], *row["interval"]):
            assert value is None or f"{value:.5g}" in page.text
        if row["evidence"]:
            assert tally(row["evidence"]) in page.text
        for item in row["evidence"]:
            assert item["measured"] in page.text
    for word in ("refuted", "supported"):
        count = sum(row["verdict"] == word for row in claims.rows)
        assert pages["claims"].count(f'<span class="verdict {word}">{word}</span>') == count
        assert f'<li class="{word}"><b>{count}</b> {word}</li>' in pages["claims"]
    assert pages["claims"].count('<tr class="claim">') == len({row["id"] for row in claims.rows})
    assert re.search(r"12 of \d+ points shown", page.text)


def test_figures_hold_the_numbers_as_text(pages, sweep):
    page = Page(pages["chains"])
    drawn = page.inside("text", "tspan")
    for best in sweep.best().to_dict("records"):
        assert f"κ* = {best['kappa_star']}, S = {best['speedup']:.4f}" in drawn
        assert f"{best['mean_tokens']:.4f}" in drawn  # correlation panel
        assert f"[{best['speedup_low']:.4f}, {best['speedup_high']:.4f}]" in page.inside("title", "div")
    for word in ("each window fresh", "carried (1, 1)", "by position (1, 2)", "advanced (2, 2)", "independent (ρ = 0)"):
        assert word in drawn
    assert "hidden Markov" in drawn  # its α and ρ are implied by its parameters
    assert "speculation off: 1" in drawn


def test_exact_values_stand_beside_simulated_ones(pages):
    text = Page(pages["chains"]).text
    for process in ({"type": "iid", "alpha": 0.7}, {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"}):
        answer = simspec.exact(process, {"c_d": 0.1}, kappa_max=8)
        assert f"exact: best κ {answer.kappa_star}, {answer.optimum.best_speedup:.4f}" in text


def test_the_same_data_makes_the_same_page(pages, sweep, place):
    again = report(sweep.path, place / "again.html").read_text(encoding="utf-8")
    assert again == pages["chains"]


def test_hostile_names_are_text(place):
    table = {
        "name": "hostile",
        "windows": 10_000,
        "kappa": [0, 1, 2, 3],
        "process": [{**own, "label": HOSTILE} for own in CONSTRUCTIONS[:1]],
    }
    data = simspec.sweep(table, output=place / "hostile")
    manifest = json.loads((data.path / "manifest.json").read_text(encoding="utf-8"))
    manifest["provenance"] |= {"host": "</dd><script>1</script>", "command": ["\x1b[2J", "<b>"]}
    (data.path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    text = report(data.path, place / "hostile.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "img", "b"} & set(page.tags)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert(1)</script>" in page.text
    assert "$\\frac{a}$" in page.inside("text", "tspan")  # drawn as text, not as mathematics
    assert "</dd><script>1</script>" in page.text


def test_large_data_are_drawn_in_part_and_it_is_said(place):
    table = {
        "name": "grid",
        "windows": 1_000,
        "kappa": [0, 1, 2, 3],
        "process": {"type": "iid", "alpha": {"from": 0.5, "to": 0.9, "step": 0.01}},
        "cost": {"c_d": [0.05, 0.1, 0.2]},
    }
    data = simspec.sweep(table, output=place / "grid")
    chosen = choose(points(data.estimates))
    assert len(chosen) == 12
    assert len({point.cost.c_d for point in chosen}) == 3
    assert {0.5, 0.9} <= {point.parameters["alpha"] for point in chosen}
    text = report(data.path, place / "grid.html").read_text(encoding="utf-8")
    assert "12 of 123 points shown" in text
    assert "6 of 41 simulations shown" in text
    assert "all 123 points shown" in text  # the table


@pytest.mark.parametrize(
    "change",
    [
        {"windows": 1},
        {"kappa": [0]},
        {"kappa": [4]},
        {"kappa": [0, 1, 2, 3, 4, 5, 100], "cost": {"c_d": 0.1}},
        {"process": {"type": "iid", "alpha": 0.0}, "cost": {"c_d": 0.1, "off": 0.5}},
        {"process": {"type": "iid", "alpha": 1.0}},
        {"process": {"type": "drift", "shape": "table", "alphas": [0.9, 0.5, 0.1]}},
        {"cost": {"draft_table": [0.0, 0.1, 0.1, 0.1]}},
        {"cost": {"verify_table": [1.0, 1.0, 1.1, 1.3], "off": 0.9}},
        {"process": {"type": "token_chain", "target": [[0.7, 0.3], [0.4, 0.6]], "draft": [[0.5, 0.5], [0.5, 0.5]]}},
        {
            "process": {"type": "hmm", "P": [[0.9, 0.1], [0.1, 0.9]], "alphas": [0.9, 0.5], "start": "carry"},
            "kappa": [2, 3],
        },
        {"process": {"type": "beta_mixture", "a": 7.0, "b": 3.0}},
        {"process": {"type": "survival", "survival": [0.7, 0.7, 0.0]}, "kappa": [0, 1, 2, 3]},
    ],
    ids=str,
)
def test_odd_data_make_a_page(change, place, tmp_path):
    table = {"name": "odd", "windows": 10_000, "kappa": [0, 2, 3], "process": {"type": "iid", "alpha": 0.7}} | change
    data = simspec.sweep(table, output=tmp_path / "odd")
    page = Page(report(data.path, tmp_path / "odd.html").read_text(encoding="utf-8"))
    assert page.tags.count("svg") >= 1
    assert ("also run, beyond the figure: κ = 100" in page.text) == (100 in table["kappa"])


def test_a_process_without_exact_route_is_drawn_alone(sweep):
    from simspec.report import curves
    from simspec.report.lengths import histogram, lengths

    estimates = sweep.estimates.assign(process="unheard of", speedup_exact=None)
    held = points(estimates)
    assert held[0].exact is None
    assert "κ* = " in curves.curve(held[0], "k")
    assert "share of rounds" in histogram(lengths(held, sweep.counts)[0], "a")


def _plain_folder(place):
    (place / "plain").mkdir(exist_ok=True)
    return place / "plain"


def test_bad_input_is_one_line(place, sweep, tmp_path):
    cases = [
        (place / "missing", tmp_path / "x.html", "there is no such folder"),
        (_plain_folder(place), tmp_path / "x.html", "is not a simspec dataset"),
        (sweep.path / "manifest.json", tmp_path / "x.html", "is a file"),
        (sweep.path, tmp_path, "is a folder"),
        (sweep.path, tmp_path / "nowhere" / "x.html", "cannot be written"),
    ]
    for folder, output, what in cases:
        with pytest.raises(DatasetError, match=what) as error:
            report(folder, output)
        assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_damaged_data_are_one_line(sweep, claims, tmp_path):
    for source, name, edit in (
        (sweep.path, "estimates/part-000000.parquet", lambda path: path.write_bytes(b"rubbish")),
        (sweep.path, "estimates/part-000000.parquet", lambda path: path.unlink()),
        (sweep.path, "counts/part-000000.parquet", lambda path: path.write_bytes(b"rubbish")),
        (claims.path, "verdicts.parquet", lambda path: path.unlink()),
        (claims.path, "manifest.json", lambda path: path.write_text('{"kind": "claims", "schema_version": 1}')),
    ):
        copy = tmp_path / "copy"
        shutil.copytree(source, copy)
        edit(copy / name)
        with pytest.raises(DatasetError) as error:
            report(copy, tmp_path / "x.html")
        assert "\n" not in str(error.value)
        assert not (tmp_path / "x.html").exists()
        shutil.rmtree(copy)


def test_a_failed_write_leaves_what_was_there(sweep, tmp_path, monkeypatch):
    target = tmp_path / "kept.html"
    target.write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("simspec.report.build.os.replace", full)
    with pytest.raises(DatasetError, match="No space left"):
        report(sweep.path, target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_missing_matplotlib_says_what_to_install(sweep, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SimspecError, match=re.escape("pip install 'simspec[report]'")):
        report(sweep.path, tmp_path / "x.html")


def test_importing_the_report_does_not_import_matplotlib():
    code = "import sys, simspec.report, simspec.cli.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_the_command_writes_and_says_where(sweep, tmp_path, capsys):
    import argparse

    from simspec.cli import report as command

    top = argparse.ArgumentParser()
    command.add(top.add_subparsers())
    target = tmp_path / "page.html"
    assert top.parse_args(["report", "somewhere"]).output == "report.html"
    args = top.parse_args(["report", str(sweep.path), "-o", str(target), "--json"])
    assert args.do(args) == 0
    assert json.loads(capsys.readouterr().out) == {"report": str(target)}
    assert target.stat().st_size > 10_000


def _opened(page, place):
    """Console lines and requests of a page in headless Chromium; the browser's own requests have no origin."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("chromium is not installed")
    log = place / "net.json"
    quiet = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    command = [browser, "--headless", "--no-sandbox", *quiet.split(), "--disable-sync", "--enable-logging=stderr"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={place / 'profile'}"]
    command += [f"--log-net-log={log}", "--window-size=400,800", f"--screenshot={place / 'page.png'}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (place / "page.png").stat().st_size > 1_000
    initiators = re.findall(r'"initiator":"([^"]*)"', log.read_text(encoding="utf-8", errors="replace"))
    return done.stderr.count("CONSOLE"), [name for name in initiators if name != "not an origin"]


def test_chromium_opens_it_without_a_word(pages, place, tmp_path):
    assert _opened(place / "claims.html", tmp_path) == (0, [])


def test_chromium_would_tell_of_a_request_and_of_a_console_line(tmp_path):
    page = tmp_path / "planted.html"
    page.write_text('<!DOCTYPE html><img src="https://example.invalid/a.png"><script>console.error("x")</script>')
    lines, requests = _opened(page, tmp_path)
    assert lines > 0
    assert requests


def test_constructions_that_imply_alpha_and_rho_join_the_panel():
    from simspec.model import Cost
    from simspec.report.panel import groups
    from simspec.report.points import Point

    half = (0.3 * 0.7 * 0.3) ** 0.5
    kinds = {
        "markov": {"alpha": 0.7, "rho": 0.3, "start": "stationary"},
        "discrete_mixture": {"alphas": [0.7 + half, 0.7 - half], "weights": [0.5, 0.5]},
        "hmm": {"P": [[0.9, 0.1], [0.1, 0.9]], "alphas": [0.9806, 0.4194]},
        "beta_mixture": {"a": 7.0, "b": 3.0},  # ρ = 1/11: another correlation, so not one of them
        "survival": {"survival": [0.7, 0.553]},  # a measured curve implies no α and ρ
        "iid": {"alpha": 0.7},
    }
    held = [Point(kind, kind, kind, "", own, Cost(c_d=0.1), []) for kind, own in kinds.items()]
    (group,) = groups(held)
    assert (group.alpha, group.rho) == (0.7, 0.3)
    assert [point.kind for _, point in group.members] == ["markov", "discrete_mixture", "hmm", "iid"]
