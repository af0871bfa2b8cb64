#!/usr/bin/env python3
"""Checks packaging/Dockerfile and packaging/worker-job.yaml, which no engine builds or runs here.

Of the Dockerfile: instructions that exist, images with a tag, packages installed without recommendations and without what
apt leaves behind, files that are there, no secrets, a user that is not root, commands in JSON. Of the manifest: a Job
whose containers have an image with a tag and no password in words. Ends with 77, and a line that says why, without a
reader of YAML (python3-yaml); the Dockerfile is checked all the same.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCKERFILE = ROOT / "packaging" / "Dockerfile"
MANIFEST = ROOT / "packaging" / "worker-job.yaml"
INSTRUCTIONS = {"ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "LABEL", "RUN", "USER", "VOLUME", "WORKDIR"}
SECRET = re.compile(r"passw|secret|token", re.IGNORECASE)
TAGGED = re.compile(r"^[a-z0-9./-]+:(?!latest$)[\w.-]+$")
SKIPPED = 77


def instructions(text):
    """Line number, word and the rest of each, continued lines joined."""
    begin, parts = 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        if not parts and (not line.strip() or line.startswith("#")):
            continue
        begin = begin if parts else number
        parts.append(line.rstrip("\\").strip())
        if not line.endswith("\\"):
            word, _, rest = " ".join(parts).partition(" ")
            yield begin, word, rest
            parts = []


def problem_of(word, rest, stages):
    """What is wrong with one instruction, or None."""
    if word not in INSTRUCTIONS:
        return f"{word} is no instruction that we use"
    if word == "FROM" and rest.split()[0] not in stages and not TAGGED.match(rest.split()[0]):
        return f"the image {rest.split()[0]} has no tag, or the tag latest"
    if word in {"ENV", "ARG"} and SECRET.search(rest):
        return "a secret would stay in the image"
    if word in {"CMD", "ENTRYPOINT"} and not rest.startswith("["):
        return f"{word} is not in JSON: a shell would stand between the worker and its signals"
    if word in {"CMD", "ENTRYPOINT"}:
        json.loads(rest)
    if "apt-get install" in rest:
        for needed in ("apt-get update", "-y --no-install-recommends", "rm -rf /var/lib/apt/lists"):
            if needed not in rest:
                return f"apt-get install without {needed}"
    if word == "COPY" and not rest.startswith("--from="):
        missing = [source for source in rest.split()[:-1] if not (ROOT / source).exists()]
        return f"there is no {missing[0]}" if missing else None
    if word == "RUN":
        scripts = [script for script in re.findall(r"\btools/\S+", rest) if not (ROOT / script).exists()]
        return f"there is no {scripts[0]}" if scripts else None
    return None


def dockerfile_problems():
    stages, user = set(), None
    for number, word, rest in instructions(DOCKERFILE.read_text()):
        problem = problem_of(word, rest, stages)
        if problem:
            yield f"{DOCKERFILE.relative_to(ROOT)}:{number}: {problem}"
        if word == "FROM":
            user = None
            stages.add(rest.split()[-1])
        user = rest if word == "USER" else user
    if user in (None, "root", "0"):
        yield f"{DOCKERFILE.relative_to(ROOT)}: the last stage runs as root"


def manifest_problems(document):
    name = MANIFEST.relative_to(ROOT)
    if (document.get("apiVersion"), document.get("kind")) != ("batch/v1", "Job"):
        yield f"{name}: is no Job of batch/v1"
    spec = document["spec"]["template"]["spec"]
    if spec.get("restartPolicy") not in {"OnFailure", "Never"}:
        yield f"{name}: a Job restarts OnFailure or Never"
    mounted = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", [])}
    if mounted != {volume["name"] for volume in spec.get("volumes", [])}:
        yield f"{name}: volumes and mounts differ"
    for container in spec["containers"]:
        if not TAGGED.match(container["image"]):
            yield f"{name}: the image {container['image']} has no tag, or the tag latest"
        if not all(isinstance(word, str) for word in container["args"]):
            yield f"{name}: arguments are words: numbers need quotes"
        for variable in container.get("env", []):
            if SECRET.search(variable["name"]) and "value" in variable:
                yield f"{name}: {variable['name']} stands there in words"
        if any(re.search(r"://[^/@]*:[^/@]*@", word) for word in container["args"]):
            yield f"{name}: a password stands in an argument"


def main():
    problems = list(dockerfile_problems())
    try:
        import yaml
    except ImportError:
        yaml = None
    if yaml is not None:
        problems += manifest_problems(yaml.safe_load(MANIFEST.read_text()))
    for problem in problems:
        print(problem)
    if problems:
        return 1
    if yaml is None:
        print("no reader of YAML (python3-yaml): the manifest was not checked")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
