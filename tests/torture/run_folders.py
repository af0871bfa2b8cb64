"""Damage to run folders."""
import collections
import hashlib
import json
import pathlib
import shutil
import subprocess
import time

import corpus
import mutate
import program

READERS = [["predict", "run"], ["predict", "run", "--json"], ["predict", "run", "--run", "1"],
           ["predict", "run", "--ensemble"], ["eval", "run", "--json"], ["eval", "run", "--ensemble"],
           ["compare", "run", "other", "--json"], ["train", "--resume", "run"],
           ["train", "--refit-flow", "run", "--out", "refitted", "--epochs", "5"]]
RUNS = ["--runs", "2", "--baselines", "none", "--checkpoint-every", "10", "--out", "run"]
SHARE_RESEALED = 0.4  # with the checksum of the damaged file, so that the damage reaches those who read it

Training = collections.namedtuple("Training", "name folder files commands answers")


class RunFolders:
    kind = "runs"

    def __init__(self, qw, folder):
        self.qw = qw
        nodes, edges = corpus.people_csv(people=60)
        (folder / "nodes.csv").write_bytes(nodes)
        (folder / "edges.csv").write_bytes(edges)
        tables = ["--edges", folder / "edges.csv", "--nodes", folder / "nodes.csv"]
        graph = "csbm:nodes=60,degree=5,features=6,classes=3"
        explained = [["explain", "run", "--node", "p7", *how] for how in (["--json"], ["--class", "all"])]
        self.trainings = [
            self.trained(folder / "flow", [*tables, "--target", "team", "--solver", "bregman", "--lambda", "10"],
                         READERS + explained),
            self.trained(folder / "values", [*tables, "--target", "score"], READERS + explained[:1]),
            self.trained(folder / "weights", [graph, "--solver", "proximal", "--edge-weights"], READERS),
            self.trained(folder / "propagation", [graph, "--solver", "label-propagation", "--model", "none"],
                         READERS),
            self.interrupted(folder / "interrupted",
                             [graph, "--solver", "bregman", "--epochs", "300", "--patience", "0"]),
        ]
        self.pool = [contents for training in self.trainings for contents in training.files.values()]

    def trained(self, folder, options, commands):
        folder.mkdir()
        epochs = ["--epochs", "20"] if "label-propagation" not in options else []
        program.run_well(self.qw, ["train", *options, *epochs, *RUNS], folder)
        shutil.copytree(folder / "run", folder / "other")
        return Training(folder.name, folder, files_in(folder / "run"), commands, {})

    def interrupted(self, folder, options):
        """Killed after the first checkpoint."""
        folder.mkdir()
        process = program.start(self.qw, ["train", *options, *RUNS], folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        while not list(folder.glob("run/run-*/checkpoint.safetensors")) and process.poll() is None:
            time.sleep(0.002)
        program.kill_group(process)
        for part in program.part_files(folder):
            part.unlink()
        return Training(folder.name, folder, files_in(folder / "run"), [["train", "--resume", "run"]], {})

    def attempt(self, rng, folder):
        training = rng.choice(self.trainings)
        command = rng.choice(training.commands)
        expected = self.answer_of_the_whole(training, command)
        copy(training.folder, folder)
        is_resealed = damage(rng, folder / "run", training, rng.choice(self.trainings), self.pool)
        damaged = files_made(command, folder)
        result = program.run(self.qw, command, folder)
        differs = (result.code == 0 and not is_resealed
                   and not same_answer(answer(command, result, folder), expected, damaged))
        return training.name, command, result, "another answer, without an error" if differs else None

    def answer_of_the_whole(self, training, command):
        key = " ".join(command)
        if key not in training.answers:
            place = training.folder.parent / f"whole-{training.name}-{len(training.answers)}"
            place.mkdir()
            copy(training.folder, place)
            result = program.run(self.qw, command, place)
            training.answers[key] = answer(command, result, place)
        return training.answers[key]


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def copy(training, folder):
    for name in ("run", "other"):
        if (training / name).exists():
            shutil.copytree(training / name, folder / name)


def answer(command, result, folder):
    """What it printed; of a training what is in its runs, since it prints times."""
    return files_made(command, folder) if command[0] == "train" else result.out


def files_made(command, folder):
    made = files_in(folder / ("refitted" if "refitted" in command else "run"))
    return {name: contents for name, contents in made.items() if name.startswith("run-")}


def same_answer(actual, expected, damaged):
    """Of files those count that were made since the damage."""
    if isinstance(actual, bytes):
        return actual == expected
    return all(contents in (expected.get(name), damaged.get(name)) for name, contents in actual.items())


def damage(rng, folder, training, other, pool):
    """Whether the damaged file got a new checksum in its manifest."""
    name = rng.choice(sorted(training.files))
    path = folder / name
    how = rng.random()
    if how < 0.08:
        path.unlink()
        return False
    if how < 0.16:
        path.write_bytes(rng.choice(sorted(training.files.items()))[1])
    elif how < 0.24 and name in other.files:
        path.write_bytes(other.files[name])
    else:
        path.write_bytes(mutate.mutate(rng, training.files[name], rng.choice(pool)))
    return rng.random() < SHARE_RESEALED and reseal(path)


def reseal(path):
    manifest = path.parent / "manifest.json"
    document = json.loads(manifest.read_text()) if path != manifest and manifest.exists() else {"files": {}}
    if path.name not in document["files"]:
        return False
    document["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(document))
    return True
