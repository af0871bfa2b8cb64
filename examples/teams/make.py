#!/usr/bin/env python3
"""Writes friends.csv and people.csv: an invented company of 300 people in three teams.

Friends are mostly of the same team; age, city and hours say a little about it; 40 % of the teams are unknown.
"""
import csv
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
TEAMS = ["design", "engineering", "sales"]
CITIES = ["Oslo", "Porto", "Quito", "Riga"]
SYLLABLES = ["an", "be", "ci", "do", "el", "fi", "go", "ha", "io", "ja", "ka", "li", "mo", "nu", "or", "pe"]

draw = random.Random(7)


def new_name(taken):
    while True:
        name = "".join(draw.sample(SYLLABLES, 3)).capitalize()
        if name not in taken:
            return name


people = {}
for _ in range(300):
    team = draw.choices(TEAMS, weights=[2, 4, 3])[0]
    place = TEAMS.index(team)
    people[new_name(people)] = {
        "age": round(draw.gauss(34 + 4 * place, 8)),
        "city": CITIES[(place + draw.choice([0, 0, 1, 2, 3])) % len(CITIES)],
        "hours": round(draw.gauss(38 + place, 3), 1),
        "team": team,
    }

names = list(people)
friends = set()
while len(friends) < 1300:
    first, second = draw.sample(names, 2)
    same = people[first]["team"] == people[second]["team"]
    if draw.random() < (0.9 if same else 0.12):
        friends.add((min(first, second), max(first, second)))

with open(HERE / "friends.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["from", "to"])
    writer.writerows(sorted(friends))
with open(HERE / "people.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["name", "age", "city", "hours", "team"])
    for name, facts in people.items():
        age = "" if draw.random() < 0.05 else facts["age"]
        team = "" if draw.random() < 0.4 else facts["team"]
        writer.writerow([name, age, facts["city"], facts["hours"], team])
