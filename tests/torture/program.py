"""Runs qw and judges how it ended."""
import collections
import os
import pathlib
import resource
import signal
import subprocess

TIME_LIMIT = 20  # seconds
MEMORY_LIMIT = 4 << 30  # bytes of address space
LONGEST_ERROR = 2000  # bytes of standard error of a command that fails
MOST_ERROR_LINES = 8
# Texts of libraries and of the language, and qw's own that name no file: whoever reads them has to guess.
FOREIGN_WORDS = (b"[json.exception", b"terminate called", b"std::", b"c10::", b"filesystem error", b"bad_alloc",
                 b"basic_string", b"AddressSanitizer", b"internal error", b"a JSON document has a field")

Result = collections.namedtuple("Result", "code out err")  # code: None after the time limit, -N after signal N


def limit_memory():
    """For this process and all that it starts."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def start(qw, arguments, folder, **pipes):
    """In a process group of its own, away from the user's cache and without a network."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QW_")}
    environment["QW_CACHE_DIR"] = str(pathlib.Path(folder).absolute() / "no-cache")
    return subprocess.Popen([str(qw), *map(str, arguments)], cwd=folder, stdin=subprocess.DEVNULL,
                            start_new_session=True, env=environment, **pipes)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return process.wait()


def run(qw, arguments, folder, time_limit=TIME_LIMIT):
    process = start(qw, arguments, folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=time_limit)
        return Result(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        kill_group(process)
        out, err = process.communicate()
        return Result(None, out, err)


def run_well(qw, arguments, folder):
    """For what must succeed before there is anything to torture."""
    result = run(qw, arguments, folder, time_limit=600)
    if result.code != 0:
        raise SystemExit(f"qw {' '.join(map(str, arguments))} in {folder} ended with {result.code}: "
                         f"{result.err.decode(errors='replace')}")
    return result


def part_files(folder):
    return [path for path in pathlib.Path(folder).rglob("*.part")]


def complaint(result):
    """What is wrong with the way it ended, or None."""
    if result.code is None:
        return f"did not end within {TIME_LIMIT} s"
    if result.code < 0:
        return f"ended by signal {signal.Signals(-result.code).name}"
    if result.code not in (0, 1, 2):
        return f"exit code {result.code}"
    for word in FOREIGN_WORDS:
        if word in result.err or word in result.out:
            return f"says '{word.decode()}'"
    if any(byte < 32 and byte not in b"\t\n" for byte in result.err):
        return "writes control characters to standard error"
    if result.code != 0:
        if not result.err.strip() and b'"error"' not in result.out:
            return "failed without a word"
        if len(result.err) > LONGEST_ERROR:
            return f"an error of {len(result.err)} bytes"
        if result.err.count(b"\n") > MOST_ERROR_LINES:
            return f"an error of {result.err.count(bytes([10]))} lines"
    return None
