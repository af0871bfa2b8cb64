#!/usr/bin/env python3
"""Every metric beside scikit-learn's on random cases: sklearn_oracle.py METRIC_VALUES, the program to ask.

Exits with 77 (skipped) where scikit-learn is not installed.
"""
import json
import subprocess
import sys
import warnings

try:
    import numpy as np
    from sklearn import metrics as sk
except ImportError as error:
    print(f"skipped: {error}; install python3-sklearn")
    sys.exit(77)

CASES = 200
TOLERANCE = 1e-12
warnings.simplefilter("ignore")


def draw_size(rng):
    return int(rng.integers(1, 6)) if rng.random() < 0.2 else int(rng.integers(6, 301))


def draw_weights(rng, n):
    kind = rng.integers(0, 3)
    if kind == 0:
        return []
    weights = rng.exponential(size=n) if kind == 1 else rng.integers(0, 4, size=n) / 4
    return weights.tolist()


def spoil(rng, probability):
    """Rounds, for ties, or saturates."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return np.round(probability, 1)
    if kind == 1:
        return np.where(probability > 0.5, 1.0, np.where(probability < 0.2, 0.0, probability))
    return probability


def class_case(rng):
    n, classes = draw_size(rng), int(rng.integers(2, 9))
    occurring = rng.choice(classes, size=rng.integers(1, classes + 1), replace=False)
    truth = rng.choice(occurring, size=n)
    logits = rng.normal(size=(n, classes)) * rng.uniform(0.5, 5)
    logits[np.arange(n), truth] += rng.uniform(0, 3)
    if rng.random() < 0.3:
        logits[:, rng.integers(0, classes)] -= 50
    probability = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability = spoil(rng, probability / probability.sum(axis=1, keepdims=True))
    predicted = probability.argmax(axis=1)
    if rng.random() < 0.3:
        predicted = rng.integers(0, classes, size=n)
    return dict(kind="classes", width=classes, truth=truth.tolist(), predicted=predicted.tolist(),
                probability=probability.ravel().tolist(), weights=draw_weights(rng, n))


def label_case(rng):
    n, labels = draw_size(rng), int(rng.integers(1, 9))
    truth = (rng.random((n, labels)) < rng.random(labels)).astype(float)
    probability = spoil(rng, 1 / (1 + np.exp(-rng.normal(size=(n, labels)) * 3 - 2 * truth + 1)))
    predicted = (probability > 0.5).astype(int)
    if rng.random() < 0.3:
        predicted[:, rng.integers(0, labels)] = 0
    if rng.random() < 0.5:
        truth[rng.random((n, labels)) < 0.2] = np.nan
    return dict(kind="labels", width=labels, truth=truth.ravel().tolist(), predicted=predicted.ravel().tolist(),
                probability=probability.ravel().tolist(), weights=draw_weights(rng, n))


def value_case(rng):
    n, columns = draw_size(rng), int(rng.integers(1, 4))
    scale = 10.0 ** rng.integers(-6, 7)
    truth = scale * (rng.normal(size=(n, columns)) + rng.normal(size=columns))
    predicted = truth + scale * rng.normal(size=(n, columns)) * rng.uniform(0, 2)
    if rng.random() < 0.3:
        truth, predicted = np.round(truth / scale), np.round(predicted / scale)
    if rng.random() < 0.5:
        truth[rng.random((n, columns)) < 0.2] = np.nan
    return dict(kind="values", width=columns, truth=truth.ravel().tolist(), predicted=predicted.ravel().tolist(),
                weights=draw_weights(rng, n))


def mean_of_known(values):
    values = [value for value in values if not np.isnan(value)]
    return np.mean(values) if values else np.nan


def calibration_error(confidence, right, weights):
    bins = np.clip(np.ceil(confidence * 15) - 1, 0, 14)
    error = 0.0
    for b in np.unique(bins):
        part = bins == b
        share = weights[part].sum() / weights.sum()
        if share > 0:
            error += share * abs(np.average(right[part], weights=weights[part]) -
                                 np.average(confidence[part], weights=weights[part]))
    return error


def ranking(score, truth, probability, weights):
    return score(truth, probability, sample_weight=weights) if 0 < truth.sum() < len(truth) else np.nan


def class_values(case):
    classes = case["width"]
    truth, predicted = np.array(case["truth"]), np.array(case["predicted"])
    probability = np.array(case["probability"]).reshape(-1, classes)
    weights = np.array(case["weights"] or np.ones(len(truth)))
    counts = weights > 0
    truth, predicted, probability, weights = truth[counts], predicted[counts], probability[counts], weights[counts]
    if len(truth) == 0:
        return {}
    hot = np.eye(classes)[truth]
    f1 = {a: sk.f1_score(truth, predicted, average=a, sample_weight=weights, zero_division=0)
          for a in ["macro", "weighted", "micro"]}
    ranked = [1] if classes == 2 else range(classes)
    brier = (sk.brier_score_loss(truth, probability[:, 1], sample_weight=weights, pos_label=1) if classes == 2
             else np.average(((probability - hot) ** 2).sum(axis=1), weights=weights))
    return {
        "accuracy": sk.accuracy_score(truth, predicted, sample_weight=weights),
        "balanced_accuracy": sk.balanced_accuracy_score(truth, predicted, sample_weight=weights),
        "macro_f1": f1["macro"], "weighted_f1": f1["weighted"], "micro_f1": f1["micro"],
        "roc_auc": mean_of_known([ranking(sk.roc_auc_score, hot[:, c], probability[:, c], weights) for c in ranked]),
        "average_precision": mean_of_known(
            [ranking(sk.average_precision_score, hot[:, c], probability[:, c], weights) for c in ranked]),
        "log_loss": sk.log_loss(truth, probability, sample_weight=weights, labels=list(range(classes))),
        "brier": brier,
        "ece": calibration_error(probability.max(axis=1), probability.argmax(axis=1) == truth, weights),
    }


def label_values(case):
    labels = case["width"]
    truth = np.array(case["truth"], dtype=float).reshape(-1, labels)
    predicted = np.array(case["predicted"]).reshape(-1, labels)
    probability = np.array(case["probability"]).reshape(-1, labels)
    weights = np.array(case["weights"] or np.ones(len(truth)))
    weights = np.repeat(weights[:, None], labels, axis=1)
    known = ~np.isnan(truth) & (weights > 0)
    if not known.any():
        return {}
    columns = [(truth[k, c], predicted[k, c], probability[k, c], weights[k, c])
               for c, k in enumerate(known.T) if k.any()]
    occurring = [column for column in columns if column[0].any() or column[1].any()]
    f1 = [sk.f1_score(t, g, sample_weight=w, zero_division=0) for t, g, _, w in occurring]
    support = [(t * w).sum() for t, _, _, w in occurring]
    t, g, p, w = truth[known], predicted[known], probability[known], weights[known]
    if known.all() and len(occurring) == labels > 1:  # what scikit-learn can do at once
        at_once = sk.f1_score(truth, predicted, average="macro", sample_weight=weights[:, 0], zero_division=0)
        assert abs(at_once - np.mean(f1)) < 1e-12
    return {
        "macro_f1": np.mean(f1) if f1 else np.nan,
        "micro_f1": sk.f1_score(t, g, sample_weight=w, zero_division=0) if f1 else np.nan,
        "weighted_f1": (np.average(f1, weights=support) if sum(support) > 0 else 0.0) if f1 else np.nan,
        "accuracy": sk.accuracy_score(t, g, sample_weight=w),
        "roc_auc": mean_of_known([ranking(sk.roc_auc_score, t, p, w) for t, _, p, w in columns]),
        "average_precision": mean_of_known([ranking(sk.average_precision_score, t, p, w) for t, _, p, w in columns]),
        "log_loss": sk.log_loss(t, p, sample_weight=w, labels=[0, 1]),
        "brier": sk.brier_score_loss(t, p, sample_weight=w, pos_label=1),
        "ece": calibration_error(np.maximum(p, 1 - p), (p > 0.5) == (t == 1), w),
    }


def pooled_r2(truth, predicted, weights, known):
    squares = around_mean = 0.0
    for c, k in enumerate(known.T):
        if not k.any():
            continue
        t, p, w = truth[k, c], predicted[k, c], weights[k, c]
        squares += (w * (t - p) ** 2).sum()
        if t.min() < t.max():
            around_mean += (w * (t - np.average(t, weights=w)) ** 2).sum()
    return 1 - squares / around_mean if around_mean > 0 else np.nan


def value_values(case):
    columns = case["width"]
    truth = np.array(case["truth"], dtype=float).reshape(-1, columns)
    predicted = np.array(case["predicted"]).reshape(-1, columns)
    weights = np.array(case["weights"] or np.ones(len(truth)))
    weights = np.repeat(weights[:, None], columns, axis=1)
    known = ~np.isnan(truth) & (weights > 0)
    if not known.any():
        return {}
    r2 = pooled_r2(truth, predicted, weights, known)
    varies = all(truth[k, c].size > 1 and np.ptp(truth[k, c]) > 0 for c, k in enumerate(known.T))
    if known.all() and varies:
        r2 = sk.r2_score(truth, predicted, sample_weight=weights[:, 0], multioutput="variance_weighted")
    t, p, w = truth.T[known.T], predicted.T[known.T], weights.T[known.T]
    return {
        "r2": r2,
        "rmse": sk.mean_squared_error(t, p, sample_weight=w, squared=False),
        "mse": sk.mean_squared_error(t, p, sample_weight=w),
        "mae": sk.mean_absolute_error(t, p, sample_weight=w),
        "median_ae": sk.median_absolute_error(t, p, sample_weight=w if case["weights"] else None),
    }


def same(name, ours, theirs):
    """To rounding: of the value where it has the data's units, else of 1, which shares are differences from."""
    if ours is None or np.isnan(theirs):
        return ours is None and np.isnan(theirs)
    unit = 0.0 if name in {"rmse", "mse", "mae", "median_ae"} else 1.0
    return abs(ours - theirs) <= TOLERANCE * max(unit, abs(theirs))


def main():
    rng = np.random.default_rng(20240917)
    kinds = [(class_case, class_values), (label_case, label_values), (value_case, value_values)]
    cases = [(draw(rng), oracle) for draw, oracle in kinds for _ in range(CASES)]
    lines = "".join(json.dumps(case).replace("NaN", "null") + "\n" for case, _ in cases)
    answers = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(cases)
    compared, undefined, wrong = 0, 0, 0
    for number, ((case, oracle), answer) in enumerate(zip(cases, answers)):
        expected = oracle(case)
        for name, ours in json.loads(answer).items():
            theirs = expected.get(name, np.nan)
            compared += 1
            undefined += bool(np.isnan(theirs))
            if not same(name, ours, theirs):
                wrong += 1
                print(f"case {number} ({case['kind']}, width {case['width']}): {name} is {ours}, "
                      f"scikit-learn says {theirs}")
    print(f"{compared} values compared with scikit-learn ({undefined} undefined), {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
