#!/usr/bin/env python3
"""Linear models beside scikit-learn's on random data: sklearn_oracle.py BASELINE_VALUES, the program to ask.

Exits with 77 (skipped) where scikit-learn is not installed.
"""
import json
import os
import subprocess
import sys
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # small products: more threads only wait for each other
try:
    import numpy as np
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import StandardScaler
except ImportError as error:
    print(f"skipped: {error}; install python3-sklearn")
    sys.exit(77)

CASES = 30
TOLERANCE = 1e-5
warnings.simplefilter("ignore")


def draw_features(rng, rows, columns, sparse):
    features = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-2, 3, size=columns)
    if sparse:
        features[rng.random((rows, columns)) < 0.8] = 0
    else:
        features += 20 * rng.normal(size=columns)
    features[:, rng.integers(0, columns)] = 3  # one column is constant
    return features.astype(np.float32)


def draw(rng, task):
    rows, columns, sparse = int(rng.integers(60, 200)), int(rng.integers(2, 20)), bool(rng.random() < 0.5)
    width = int(rng.integers(2, 6)) if task == "classification" else int(rng.integers(1, 4))
    features = draw_features(rng, rows, columns, sparse)
    spread = features.std(axis=0) + (features.std(axis=0) == 0)
    scores = (features - features.mean(axis=0)) / spread @ rng.normal(size=(columns, width))
    scores += rng.normal(size=scores.shape)
    if task == "classification":
        targets = scores.argmax(axis=1)
        targets[:width] = np.arange(width)
    elif task == "multi-label":
        targets = (scores > rng.normal(size=width)).astype(float)
    else:
        targets = scores * 10.0 ** rng.integers(-3, 4, size=width)
    if task != "classification" and rng.random() < 0.5:
        targets[rng.random(targets.shape) < 0.2] = np.nan
    # The first nodes train, so that every class does.
    train = list(range(int(rows * 0.7)))
    return dict(task=task, rows=rows, columns=columns, sparse=sparse, width=width,
                features=features.ravel().tolist(), targets=np.ravel(targets).tolist(), train=train,
                strength=float(10.0 ** rng.integers(-2, 3)))


def logistic(case, classes):
    solver = "newton-cholesky" if classes == 2 else "newton-cg"
    return LogisticRegression(C=1 / case["strength"], solver=solver, tol=1e-8, max_iter=1000)


def expected(case):
    """Weights of standardised features, where they are unique, and predictions for all nodes."""
    features = np.array(case["features"], dtype=np.float64).reshape(case["rows"], case["columns"])
    train, task = case["train"], case["task"]
    targets = np.array(case["targets"], dtype=float)
    if task != "classification":
        targets = targets.reshape(case["rows"], -1)
    known = [i for i in train if not np.isnan(targets[i]).all()]
    scaler = StandardScaler(with_mean=not case["sparse"]).fit(features[known])
    scale = np.where(np.ptp(features[known], axis=0) > 0, 1 / scaler.scale_, 0)
    x = (features - (0 if case["sparse"] else scaler.mean_)) * scale
    if task == "classification":
        model = logistic(case, case["width"]).fit(x[train], targets[train])
        coefficients = model.coef_ if len(model.coef_) > 1 else np.vstack([0 * model.coef_, model.coef_])
        return coefficients.T, model.predict_proba(x), scale
    weights, predictions = [], []
    for c in range(case["width"]):
        nodes = [i for i in train if not np.isnan(targets[i, c])]
        if task == "regression":
            model = Ridge(alpha=case["strength"], solver="cholesky").fit(x[nodes], targets[nodes, c])
            weights.append(model.coef_)
            predictions.append(model.predict(x))
            continue
        if len(set(targets[nodes, c])) == 1:
            weights.append(np.zeros(x.shape[1]))
            predictions.append(np.full(len(x), targets[nodes[0], c]))
            continue
        model = logistic(case, 2).fit(x[nodes], targets[nodes, c])
        weights.append(model.coef_[0])
        predictions.append(model.predict_proba(x)[:, 1])
    return np.array(weights).T, np.array(predictions).T, scale


def relative_error(ours, theirs):
    size = np.maximum(1e-300, np.abs(theirs).max(axis=0)) if len(theirs) else 1
    return (np.abs(ours - theirs) / size).max()


def main():
    rng = np.random.default_rng(11)
    cases = [draw(rng, task) for task in ["classification", "multi-label", "regression"] for _ in range(CASES)]
    lines = "".join(json.dumps(case).replace("NaN", "null") + "\n" for case in cases)
    answers = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(cases)
    wrong, worst = 0, 0.0
    for number, (case, answer) in enumerate(zip(cases, answers)):
        ours = json.loads(answer)
        weights, prediction, scale = expected(case)
        our_weights = np.array(ours["weights"]).reshape(weights.shape)
        our_prediction = np.array(ours["prediction"], dtype=float).reshape(prediction.shape)
        errors = [relative_error(our_weights, weights * scale[:, None]), relative_error(our_prediction, prediction)]
        worst = max(worst, *errors)
        if not max(errors) <= TOLERANCE:
            wrong += 1
            print(f"case {number} ({case['task']}, {case['rows']} x {case['columns']}, sparse {case['sparse']}, "
                  f"strength {case['strength']}): weights differ by {errors[0]:.1e}, predictions by {errors[1]:.1e}")
    print(f"{len(cases)} models compared with scikit-learn, largest relative difference {worst:.1e}, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
