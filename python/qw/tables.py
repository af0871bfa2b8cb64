"""DataFrames as the CSV files that the library reads: columns become features as `qw train` makes them."""

from __future__ import annotations

import pathlib
import re
import tempfile
from typing import Any

import numpy as np

from ._lib import fail
from .convert import as_array, as_pairs, edges_of, is_graph, is_instance, is_pyg, is_sparse_matrix

ID = "qw_id"
ENDS = ("source", "target")

# Nothing is guessed: the first line names columns, "#7" may be a node, and "NA" or "None" a category.
READ_AS_GIVEN = {"header": "yes", "comments": "keep", "missing": [], "id": ID}


LIKE_NUMBERS = re.compile(r"\s*[-+]?[\s$€£]*(\d[\d.,' ]*([eE][-+]?\d+)?|[.,]\d+|inf|infinity)[\s%$€£]*", re.IGNORECASE)


def to_be_quoted(table: Any) -> list[str]:
    """Columns of text or of pandas' categories with values that look like numbers, which they would be read as."""
    import pandas as pd

    found = []
    for name, column in table.items():
        text = pd.api.types.infer_dtype(column, skipna=True) in ("string", "mixed", "mixed-integer")
        if isinstance(column.dtype, pd.CategoricalDtype) or text:
            values = column.dropna().unique()
            if any(LIKE_NUMBERS.fullmatch(str(value)) for value in values):
                found.append(str(name))
    return found


def _quoted(column: Any) -> Any:
    return column.astype(object).map(lambda value: f"'{value}'", na_action="ignore")


class TableFiles:
    """A table of nodes and edges between the ids in its index, in a folder that goes with this object.

    quoted: columns whose values are written between quotes, so that no number is read in them.
    """

    def __init__(self, nodes: Any, edges: Any, directed: bool | None, quoted: list[str]) -> None:
        if not nodes.index.is_unique:
            raise fail("the index of X must name every node once: it is the nodes' ids")
        links, options = _edge_table(edges, nodes.index, directed)
        table = nodes.copy()
        table.columns = [str(name) for name in table.columns]
        if ID in table.columns:
            raise fail(f"a column of X is named {ID}, which is the name of its index here; rename it")
        for place, name in enumerate(table.columns):
            if name in quoted:
                table.isetitem(place, _quoted(table.iloc[:, place]))
        table.insert(0, ID, nodes.index)
        self._folder = tempfile.TemporaryDirectory(prefix="qw-tables-")
        folder = pathlib.Path(self._folder.name)
        self.options = {**READ_AS_GIVEN, **options}
        self.names: dict[str, str] = {}  # of the files, for people
        for name, written, shown in (("nodes", table, "X"), ("edges", links, "edges")):
            self.options[name] = str(folder / f"{name}.csv")
            self.names[self.options[name]] = shown
            written.to_csv(self.options[name], index=False)


def _edge_table(edges: Any, ids: Any, directed: bool | None) -> tuple[Any, dict[str, Any]]:
    """A DataFrame of edges, and the options that say what is in it."""
    import pandas as pd

    if is_instance(edges, "pandas", "DataFrame"):
        if edges.shape[1] < 2:
            raise fail(f"edges must have two columns, got {edges.shape[1]}")
        names = [str(name) for name in edges.columns]
        is_named = all(isinstance(name, str) for name in edges.columns[:2])
        ends = {} if is_named else {"source": names[0], "destination": names[1]}
        return edges.set_axis(names, axis=1), {"directed": bool(directed), **ends}
    if is_instance(edges, "networkx", "Graph") or is_graph(edges) or is_sparse_matrix(edges) or is_pyg(edges):
        return _by_place(edges, ids, directed)
    pairs = [] if edges is None else as_pairs(edges)
    if pairs is None:
        array = as_array(edges, "edges")
        if array.size and (array.ndim != 2 or array.shape[0] != 2):
            raise fail(f"edges must be [2, E] or a list of pairs, got the shape {list(array.shape)}")
        pairs = list(zip(*array.tolist())) if array.size else []
    return pd.DataFrame(pairs, columns=list(ENDS), dtype=object), {"directed": bool(directed)}


def _by_place(edges: Any, ids: Any, directed: bool | None) -> tuple[Any, dict[str, Any]]:
    """Of a graph with nodes of its own: by their names, or by the rows of X where they are numbered."""
    import pandas as pd

    given = edges_of(edges, None, directed)
    if given.names is not None:
        names: Any = given.names
    elif is_instance(edges, "networkx", "Graph"):
        names = list(range(given.num_nodes))
    elif given.num_nodes == len(ids):
        names = list(ids)
    else:
        raise fail(f"edges must be between the {len(ids)} rows of X, got a graph of {given.num_nodes} nodes")
    table = pd.DataFrame({end: [names[place] for place in row] for end, row in zip(ENDS, given.index)})
    options: dict[str, Any] = {"directed": given.directed, "source": ENDS[0], "destination": ENDS[1]}
    if is_graph(edges):
        options.update(self_loops="keep", duplicate_edges="keep")  # it has decided about them
    for name, values in (("cost", given.costs), ("weight", given.weights)):
        if values is not None:
            table[name] = np.asarray(values)
            options[f"edge_{name}"] = name
    return table, options
