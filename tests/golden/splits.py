"""The published rule of splits, by numpy's RandomState itself.

From each class in order round(train_rate N / C) nodes without replacement, or the whole class where
it is smaller; then round(val_rate N) of the other labelled nodes for validation, and the rest for
test. N counts all nodes; those without a label (-1) stand in no part.
"""

import numpy as np

from cases import Draw

SEEDS = [1941488137, 4198936517, 983997847, 4023022221, 4019585660, 2108550661, 1648766618,
         629014539, 3212139042, 2424918363]
NOTE = ("numpy RandomState(seed); per class in order, choice(class indices, round(train_rate*N/C), "
        "replace=False), whole class if smaller; then choice(rest, round(val_rate*N), replace=False) "
        "for validation; everything else is test. Index lists are sorted here; -1 is no label.")


def published_split(labels, seed, train_rate, val_rate):
    random = np.random.RandomState(seed)
    labels = np.array(labels)
    classes = labels.max() + 1
    quota = round(train_rate * len(labels) / classes)
    train = []
    for each in range(classes):
        members = np.flatnonzero(labels == each)
        drawn = random.choice(members, quota, replace=False) if quota <= len(members) else members
        train.extend(drawn.tolist())
    rest = np.array([i for i in np.flatnonzero(labels >= 0) if i not in train])
    val = random.choice(rest, round(val_rate * len(labels)), replace=False).tolist()
    test = sorted(set(rest.tolist()) - set(val))
    return {"seed": seed, "train_rate": train_rate, "val_rate": val_rate, "train": sorted(train),
            "val": sorted(val), "test": test}


def drawn_labels(seed, counts):
    """counts[c] labels of each class c, in drawn order."""
    draw = Draw(seed)
    classes = [c for c, count in counts.items() for _ in range(count)]
    keys = [draw.number() for _ in classes]
    return [classes[i] for i in sorted(range(len(classes)), key=lambda i: (keys[i], i))]


def splits_file():
    targets = {
        "even": drawn_labels(1, {0: 40, 1: 38, 2: 42}),
        "small classes": drawn_labels(2, {0: 60, 1: 9, 2: 31, 3: 3}),
        "halves": drawn_labels(3, {0: 5, 1: 5}),  # 0.5 * 10 / 2 = 2.5 is rounded to even
        "unlabelled nodes": drawn_labels(4, {-1: 20, 0: 25, 1: 30}),
    }
    rates = {"even": [(0.6, 0.2), (0.1, 0.4)], "small classes": [(0.6, 0.2)],
             "halves": [(0.5, 0.25)], "unlabelled nodes": [(0.3, 0.1)]}
    splits = {name: [published_split(labels, seed, train, val)
                     for train, val in rates[name] for seed in SEEDS[:4]]
              for name, labels in targets.items()}
    return {"note": NOTE, "seeds": SEEDS, "targets": targets, "splits": splits}
