"""Report: the page of a run, shown by a notebook and kept in a file."""

import html.parser
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import qw

NASTY = "<script>alert(1)</script> \"quoted\" 'single' & \N{GRINNING FACE} \N{HEBREW LETTER SHIN}"


def some_data():
    random = np.random.default_rng(2)
    y = np.arange(60) % 2
    x = random.normal(size=(60, 4)) + y[:, None]
    edges = np.stack([np.arange(60), (np.arange(60) + 2) % 60])
    return x, np.where(y == 0, "no", NASTY), edges


@pytest.fixture(scope="module")
def model():
    x, y, edges = some_data()
    return qw.NodeClassifier("gcn", solver="ce", epochs=20, runs=2).fit(x, y, edges=edges)


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_fitted_estimator(model):
    report = qw.Report(model)
    assert report.html.startswith("<!DOCTYPE html>")
    for section in ("Quality", "Training", "Data", "Reproducing it"):
        assert section in report.html
    assert "alert(1)</script>" not in report.html, "names from the data are text"
    assert "\N{HEBREW LETTER SHIN}" in report.html
    assert "<title>gcn (ce)</title>" in report.html


def test_a_folder(model, tmp_path):
    model.save(tmp_path / "run")
    of_model = qw.Report(model).html.replace(model.fitted_.folder, "FOLDER")
    for folder in (tmp_path / "run", str(tmp_path / "run")):
        assert qw.Report(folder).html.replace(str(tmp_path / "run"), "FOLDER") == of_model


def test_the_title(model):
    assert f"<title>{html.escape('Teams & more')}</title>" in qw.Report(model, title="Teams & more").html


def test_a_notebook_shows_it_apart_from_its_own_page(model):
    report = qw.Report(model, height=321)
    ((tag, attributes),) = Elements(report._repr_html_()).found
    assert tag == "iframe"
    base = '<base href="about:srcdoc">'
    assert base in attributes["srcdoc"], "links to sections stay in the frame"
    assert attributes["srcdoc"].replace(base, "") == report.html, "nothing is lost by quoting"
    assert attributes["sandbox"] == "allow-scripts", "an origin of its own"
    assert "height: 321px" in attributes["style"]
    assert attributes["title"]
    assert repr(report) == f"qw.Report({model.fitted_.folder!r})"


def test_several_are_compared(model, tmp_path):
    x, y, edges = some_data()
    other = qw.NodeClassifier("mlp", solver="ce", epochs=20, runs=2).fit(x, y, edges=edges)
    other.save(tmp_path / "other")
    report = qw.Report([model, tmp_path / "other"], title="Two of them")
    assert "<title>Two of them</title>" in report.html
    assert str(tmp_path / "other") in repr(report)
    assert "mlp" in report.html and "gcn" in report.html


def test_it_is_kept_in_a_file(model, tmp_path):
    report = qw.Report(model)
    report.save(tmp_path / "report.html")
    report.save(str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html
    assert os.listdir(tmp_path) == ["report.html"]
    with pytest.raises(FileNotFoundError):
        report.save(tmp_path / "nowhere" / "report.html")


def test_it_stays_when_the_run_goes(tmp_path, model):
    model.save(tmp_path / "run")
    report = qw.Report(tmp_path / "run")
    before = report.html
    for file in sorted((tmp_path / "run").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    assert report.html == before and "Reproducing it" in html.unescape(report._repr_html_())


def test_a_fit(tmp_path):
    random = np.random.default_rng(1)
    y = np.arange(80) % 2
    x = random.normal(size=(80, 4)) + y[:, None]
    edges = np.stack([np.arange(80), (np.arange(80) + 2) % 80])
    best = qw.AutoNodeClassifier(trials=8, seed=3).fit(x, y, edges=edges)
    assert "The race" in qw.Report(best).html


def test_what_has_no_report(tmp_path):
    with pytest.raises(qw.Error, match=r"^qw: Report takes a run folder or a fitted estimator, or a list of them, got int$"):
        qw.Report([1, 2])
    with pytest.raises(qw.Error, match=r"^qw: Report has no run to show: the list is empty$"):
        qw.Report([])
    with pytest.raises(Exception, match="this NodeClassifier is not fitted yet; call fit first"):
        qw.Report(qw.NodeClassifier())
    with pytest.raises(qw.Error, match="summary.json|no finished|nowhere"):
        qw.Report(tmp_path / "nowhere")
    with pytest.raises(qw.Error, match="the height of a report must be at least 1 pixel, got 0"):
        qw.Report(tmp_path, height=0)


def test_it_needs_no_torch(model, tmp_path):
    model.save(tmp_path / "run")
    program = "import sys, qw; qw.Report(sys.argv[1]); assert 'torch' not in sys.modules"
    search = os.pathsep.join([str(pathlib.Path(qw.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run")],
        check=True,
        env={**os.environ, "PYTHONPATH": search},
        timeout=300,
    )
