"""Two DataFrames to predictions, with how sure they are."""

import pathlib

import pandas as pd
import qw

TEAMS = pathlib.Path(__file__).parents[1] / "teams"


def main(epochs=200):
    people = pd.read_csv(TEAMS / "people.csv", index_col="name")
    friends = pd.read_csv(TEAMS / "friends.csv")
    team = people.pop("team")  # missing where it is to be predicted

    model = qw.NodeClassifier("gcn", solver="ce", epochs=epochs)
    model.fit(people, team, edges=friends)
    print(f"accuracy on people whose team was held back: {model.score():.2f}")

    chances = pd.DataFrame(model.predict_proba(), index=people.index, columns=model.classes_)
    answer = pd.DataFrame({"team": model.predict(), "sure": chances.max(axis=1)}, index=people.index)
    unknown = answer[team.isna()]
    print(unknown.sort_values("sure").head())
    return unknown


if __name__ == "__main__":
    main()
