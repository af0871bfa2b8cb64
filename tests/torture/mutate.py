"""Seeded random damage to the bytes of a file."""
import copy
import gzip
import io
import json
import re
import zipfile
import zlib

NUMBERS = [b"1e308", b"-1e308", b"1e400", b"1e-320", b"-1", b"0", b"-0", b"nan", b"inf", b"-inf", b"null",
           b"true", b"127", b"128", b"32768", b"65536", b"2147483647", b"2147483648", b"-2147483649", b"4294967296",
           b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
           b"123456789012345678901234567890123456789012345678901234567890", b"0x10", b"1_000", b"1,5", b"1.2.3",
           b"0.30000000000000004", b"00012", b"1e", b"+5", b"--5", b"1" * 5000]
WORDS = [b"", b"NA", b"NaN", b"train", b"val", b"test", b"id", b"from", b"to", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9",
         b"\xf0\x9f\x98\x80", b"'", b'"', b'""', b"\\", b"\\u0000", b"../../../../etc/passwd", b"%s%n", b"\x1b[31m",
         b"{}", b"[]", b"-", b"#", b"%", b"//", b"sep=;", b"class", b"float32", b"F64", b"I64", b"BOOL"]
FILLERS = [b" ", b",", b";", b"\t", b"\n", b"\r", b'"', b"0", b"9", b"a", b"-", b".", b"\0", b"\xff", b"\x80", b"[",
           b"{", b'{"a":', b"[0,", b"(", b"\\"]
TOKEN = re.compile(rb"[A-Za-z0-9_.+-]+")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def some_range(random, data, longest):
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + 1 + int(longest ** random.random()))


def flip_bits(random, data, other):
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def overwrite(random, data, other):
    begin = random.randrange(len(data))
    size = random.choice((1, 2, 4, 8))
    value = random.choice((0, 1, 255, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1,
                           random.getrandbits(64)))
    written = (value % 2 ** (8 * size)).to_bytes(size, random.choice(("little", "big")))
    return data[:begin] + written + data[begin + size:]


def truncate(random, data, other):
    return data[:random.randrange(len(data))]


def cut(random, data, other):
    begin, end = some_range(random, data, len(data))
    return data[:begin] + data[end:]


def repeat(random, data, other):
    begin, end = some_range(random, data, 400)
    times = min(random.choice((1, 2, 10, 1000)), 100_000 // (end - begin + 1))
    return data[:end] + data[begin:end] * times + data[end:]


def splice(random, data, other):
    begin, end = some_range(random, data, len(data))
    from_begin, from_end = some_range(random, other, len(other))
    return data[:begin] + other[from_begin:from_end] + data[end:]


def insert_run(random, data, other):
    place = random.randrange(len(data) + 1)
    filler = random.choice(FILLERS)
    return data[:place] + filler * int(100_000 ** random.random()) + data[place:]


def replace_match(pattern, choices):
    def mutation(random, data, other):
        matches = list(pattern.finditer(data))
        if not matches:
            return splice(random, data, other)
        match = random.choice(matches)
        return data[:match.start()] + random.choice(choices) + data[match.end():]
    return mutation


def swap_tokens(random, data, other):
    matches = list(TOKEN.finditer(data))
    if len(matches) < 2:
        return cut(random, data, other)
    first, second = sorted(random.sample(range(len(matches)), 2))
    a, b = matches[first], matches[second]
    return data[:a.start()] + b.group() + data[a.end():b.start()] + a.group() + data[b.end():]


def shuffle_lines(random, data, other):
    lines = data.split(b"\n")
    how = random.randrange(4)
    if how == 0:
        random.shuffle(lines)
    elif how == 1:
        del lines[random.randrange(len(lines))]
    elif how == 2:
        lines.insert(random.randrange(len(lines)), random.choice(lines))
    else:
        lines = lines[:random.randrange(1, 3)]
    return b"\n".join(lines)


def recode(random, data, other):
    how = random.randrange(6)
    if how == 0:
        return b"\xef\xbb\xbf" + data
    if how == 1:
        return data.decode("latin-1").encode("utf-16")
    if how == 2:
        return data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n")))
    if how == 3:
        return data.replace(b",", random.choice((b";", b"\t", b" ", b"|", b",,")))
    if how == 4:
        return gzip.compress(data)
    return data.replace(b".", b",")


def empty(random, data, other):
    return random.choice((b"", b"\n", b"\0", b"{}", b"[]", b"null", b" "))


# What leaves most of a file in order comes further into the program.
TAME = [flip_bits, overwrite, replace_match(NUMBER, NUMBERS), replace_match(TOKEN, WORDS), swap_tokens, swap_tokens,
        shuffle_lines]
ALL = [*TAME, flip_bits, overwrite, truncate, cut, repeat, splice, insert_run, recode]


def mutate_plain(random, data, other):
    if random.random() < 0.01:
        return empty(random, data, other)
    mutations, times = random.choice(((TAME, (1,)), (ALL, (1, 1, 2, 4))))
    for _ in range(random.choice(times)):
        data = random.choice(mutations)(random, data, other) if data else random.choice(FILLERS)
    return data


def mutate_gzip(random, data, other):
    return gzip.compress(mutate_plain(random, gzip.decompress(data), other))


def mutate_zip(random, data, other):
    archive = zipfile.ZipFile(io.BytesIO(data))
    members = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(sorted(members))
    members[name] = mutate_plain(random, members[name], random.choice(list(members.values())))
    if random.random() < 0.1:
        members.pop(random.choice(sorted(members)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as written:
        for member, contents in members.items():
            written.writestr(member, contents)
    return packed.getvalue()


JSON_VALUES = [None, True, -1, 0, 1, 2 ** 40, 2 ** 63, 0.5, 1e308, "", "nan", "x" * 5000, [], {}, [[]], [None],
               {"": 0}]


def places_in(document):
    """Every (container, key) of a JSON document."""
    inside = list(document.items()) if isinstance(document, dict) else list(enumerate(document))
    found = [(document, key) for key, _ in inside]
    for _, value in inside:
        if isinstance(value, (dict, list)):
            found += places_in(value)
    return found


def mutate_json(random, data, other):
    """Still JSON, but with a value that is gone, another, or elsewhere."""
    document = json.loads(data)
    places = places_in(document) if isinstance(document, (dict, list)) else []
    if not places:
        return json.dumps(random.choice(JSON_VALUES)).encode()
    container, key = random.choice(places)
    how = random.randrange(3)
    if how == 0:
        del container[key]
    elif how == 1:
        container[key] = random.choice(JSON_VALUES)
    else:
        giver, other_key = random.choice(places)
        container[key] = copy.deepcopy(giver[other_key])
    return json.dumps(document).encode()


def mutate_json_lines(random, data, other):
    """Of documents one to a line, one of them."""
    if b"}\n{" not in data:
        return mutate_json(random, data, other)
    lines = data.split(b"\n")
    place = random.randrange(data.count(b"}\n{") + 1)
    lines[place] = mutate_json(random, lines[place], other)
    return b"\n".join(lines)


def mutate_safetensors(random, data, other):
    """The header, which stays as long as it says."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = mutate_json(random, data[8:end], other)
    return len(header).to_bytes(8, "little") + header + data[end:]


def mutate(random, data, other):
    """`data` after some damage, which archives and JSON get inside or outside; `other` is a file to splice from."""
    if random.random() < 0.7:
        try:
            if data.startswith(b"\x1f\x8b"):
                return mutate_gzip(random, data, other)
            if data.startswith(b"PK"):
                return mutate_zip(random, data, other)
            if data[8:9] == b"{":
                return mutate_safetensors(random, data, other)
            if data[:1] in (b"{", b"["):
                return mutate_json_lines(random, data, other)
        except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile):
            pass
    return mutate_plain(random, data, other)
