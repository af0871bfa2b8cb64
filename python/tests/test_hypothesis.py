"""Graphs, losses and distances on whatever hypothesis thinks of: refused in one line, or right."""

import warnings

import numpy as np
import pytest
import torch

import qw

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
st = pytest.importorskip("hypothesis.strategies", reason="hypothesis is not installed")
arrays = pytest.importorskip("hypothesis.extra.numpy", reason="hypothesis is not installed")

SETTINGS = hypothesis.settings(max_examples=300, deadline=None)
ENDS = st.integers(-2, 12) | st.sampled_from([2**31, -(2**63), 2**62])
PAIRS = st.lists(st.tuples(ENDS, ENDS), max_size=20)
FLOATS = st.floats(width=32) | st.sampled_from([0.0, 1.0, -1.0])


def refused(call):
    """The result, or None if it was refused as it should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (qw.Error, RuntimeError, TypeError, OverflowError) as error:
            assert "\n" not in str(error) or not isinstance(error, qw.Error)
            return None


@SETTINGS
@hypothesis.given(PAIRS, st.none() | st.integers(-3, 15), st.booleans())
def test_graphs(pairs, count, directed):
    graph = refused(lambda: qw.Graph(pairs, count, directed=directed))
    right = all(0 <= end < (10**6 if count is None else count) for pair in pairs for end in pair)
    if count is not None:
        assert (graph is not None) == (right and count >= 0)
    if graph is not None:
        kept = {(a, b) if directed or a < b else (b, a) for a, b in pairs if a != b}
        assert graph.num_edges == len(kept)


@SETTINGS
@hypothesis.given(
    PAIRS, arrays.arrays(np.float32, arrays.array_shapes(min_dims=0, max_dims=3, max_side=8), elements=FLOATS),
    arrays.arrays(np.int64, arrays.array_shapes(min_dims=0, max_dims=2, max_side=8), elements=st.integers(-2, 5)),
    st.integers(-1, 4), st.floats(), st.sampled_from(["mean", "sum", ""]),
)
def test_losses(pairs, out, y, classes, lam, reduction):
    def call():
        loss = qw.QWLoss(pairs, 8, classes, lam, reduction=reduction)
        value = loss(torch.from_numpy(out), torch.from_numpy(y))
        assert loss.predict(torch.from_numpy(out)).shape == (8, classes)
        return value

    value = refused(call)
    if value is not None:
        assert out.shape == (8, classes) or (classes == 1 and out.shape == (8,))
        assert value.shape == () and (value.isnan() or value >= 0 or not np.isfinite(out).all())


@SETTINGS
@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12),
    arrays.arrays(np.float64, 6, elements=st.floats(-4, 4)), arrays.arrays(np.float64, 6, elements=st.floats(-4, 4)),
)
def test_distances(pairs, mu, nu):
    graph = refused(lambda: qw.Graph(pairs, 6))
    found = None if graph is None else refused(lambda: qw.wasserstein1(graph, mu, nu))
    if found is None or found.status != "optimal":
        return
    assert found.lower - 1e-9 <= found.distance <= found.upper + 1e-9
    assert found.distance == pytest.approx(np.abs(found.flow).sum(), abs=1e-9)
    moved = np.zeros(6)
    np.add.at(moved, graph.heads, found.flow.ravel())
    np.add.at(moved, graph.tails, -found.flow.ravel())
    assert np.allclose(mu + moved, nu, atol=1e-9) or np.allclose(nu + moved, mu, atol=1e-9)
