from typing import Any

import numpy as np
from numpy.typing import NDArray

version: str
torch_version: str

class Error(ValueError): ...
class InternalError(RuntimeError): ...

class Graph:
    @property
    def num_nodes(self) -> int: ...
    @property
    def num_edges(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def heads(self) -> NDArray[np.int32]: ...
    @property
    def tails(self) -> NDArray[np.int32]: ...
    @property
    def costs(self) -> NDArray[np.float64]: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...

class Features:
    rows: int
    columns: int
    sparse: bool
    names: list[str]
    @property
    def dense(self) -> NDArray[np.float32]: ...
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def indices(self) -> NDArray[np.int32]: ...
    @property
    def values(self) -> NDArray[np.float32]: ...

class Targets:
    task: str
    width: int
    names: list[str]
    @property
    def classes(self) -> NDArray[np.int32]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...

class Split:
    def __init__(self, train: NDArray[Any], val: NDArray[Any], test: NDArray[Any]) -> None: ...
    @property
    def train(self) -> NDArray[np.int32]: ...
    @property
    def val(self) -> NDArray[np.int32]: ...
    @property
    def test(self) -> NDArray[np.int32]: ...

class TableColumn:
    name: str
    role: str
    type: str
    values: list[str]
    missing: int
    fill: float | None

class Dataset:
    name: str
    format: str
    graph: Graph
    features: Features
    targets: Targets
    splits: list[Split]
    node_ids: list[str]
    notes: list[str]
    default_split: str
    columns: list[TableColumn]
    made_features: bool
    of_paper: bool
    def check(self) -> None: ...
    def split(self, spec: str, run: int, seed: int) -> Split: ...

class LoadOptions: ...

def build_graph(
    num_nodes: int,
    edges: NDArray[np.int64],
    costs: NDArray[np.float64],
    weights: NDArray[np.float64],
    directed: bool,
    duplicates: str,
    self_loops: str,
) -> tuple[Graph, NDArray[np.int64]]: ...
def dense_features(values: NDArray[Any]) -> Features: ...
def sparse_features(columns: int, offsets: NDArray[Any], indices: NDArray[Any], values: NDArray[Any]) -> Features: ...
def class_targets(classes: NDArray[Any], names: list[str]) -> Targets: ...
def value_targets(values: NDArray[Any], names: list[str], labels: bool) -> Targets: ...
def load_dataset(what: str, options: LoadOptions) -> Dataset: ...
def solve_transport(
    graph: Graph,
    labelled: NDArray[np.int32],
    mu: NDArray[np.float64],
    nu: NDArray[np.float64],
    slack: float,
    solver: str,
    gap: float,
    time_limit: float,
) -> dict[str, Any]: ...
def decompose_flow(
    graph: Graph, flow: NDArray[np.float64], tolerance: float
) -> list[tuple[int, int, float, list[int]]]: ...
def report_html(runs: list[str], title: str) -> bytes: ...
def thread_count() -> int: ...
def set_thread_count(count: int) -> None: ...
