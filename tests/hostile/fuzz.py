"""Damages files of every form at random, the same in each run, and judges what comes of it.

``python -m tests.hostile.fuzz --seed 1 --count 2000`` is the long run. What may come of a damaged
file is a sentence, or the values that the library of its format reads; never a signal, an internal
error, a wait, or other values.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import Any

from tests.hostile.fuzz_worker import LIBRARIES, SECONDS
from tests.hostile.seeds import SEEDS

WORDS = (0, 1, 2**7, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
_GRACE = 10
"""Seconds after its own end of time in which a worker still answers."""
_INTERNAL = re.compile(r"should not happen|Unexpected \w+Error|Traceback|inside refexplorer")


def damaged(data: bytes, ways: random.Random) -> bytes:
    """Return bytes with some of them changed."""
    found = bytearray(data)
    if not found:
        return b"\0"
    for _ in range(ways.choice((1, 1, 1, 2, 4, 8))):
        place = ways.randrange(min(len(found), ways.choice((64, 1024, len(found)))))
        way = ways.randrange(10)
        if way < 4:
            found[place] = ways.choice((0, 1, 127, 255, ways.randrange(256)))
        elif way < 6:
            found[place] ^= 1 << ways.randrange(8)
        elif way == 6:
            size = ways.choice((2, 4, 8))
            word = ways.choice(WORDS) % 2 ** (8 * size)
            found[place : place + size] = word.to_bytes(size, ways.choice(("big", "little")))
        elif way == 7:
            del found[place : place + ways.randrange(1, 32)]
        elif way == 8:
            piece = found[place : place + ways.randrange(1, 64)]
            found[place:place] = piece * ways.choice((1, 2, 50))
        else:
            del found[max(place, 1) :]
        if not found:
            break
    return bytes(found)


@dataclass(frozen=True)
class Fault:
    """What must not come of a damaged file."""

    form: str
    seed: int
    what: str


class Worker:
    """A process that answers questions, and is replaced when it ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Return what it finds, or how it ended."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.hostile.fuzz_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=Path(__file__).parents[2],
            )
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None
        assert answers is not None
        given.write(json.dumps(asked) + "\n")
        given.flush()
        if not select([answers], [], [], 3 * SECONDS + _GRACE)[0]:
            self.end()
            return {"late": "no answer"}
        line = answers.readline()
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        status = self._process.wait()
        self.end()
        name = signal.Signals(-status).name if status < 0 else f"status {status}"
        return {"ended": name}

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Fuzzer:
    """Opens damaged files in a worker, and has another one read them with the library.

    Parameters
    ----------
    folder
        Where sound and damaged files are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sound: dict[str, str] = {}
        self.ours, self.library = Worker(), Worker()
        self.outcomes: Counter[str] = Counter()

    def case(self, form: str, seed: int) -> Path:
        """Write a damaged file, and return its path."""
        sound = self._folder / "sound" / form
        if form not in self._sound:
            sound.mkdir(parents=True)
            self._sound[form] = SEEDS[form](sound)
        ways = random.Random(f"{form} {seed}")
        place = self._folder / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(sound, place)
        path = place / self._sound[form]
        files = sorted(each for each in place.rglob("*") if each.is_file())
        inside = [each for each in files if path in each.parents]
        chosen = ways.choice(inside) if inside else path
        chosen.write_bytes(damaged(chosen.read_bytes(), ways))
        return path

    def fault(self, form: str, seed: int) -> Fault | None:
        """Try a case; None if what comes of it is good."""
        path = self.case(form, seed)
        found = self.ours.ask(form=form, path=str(path), library=False)
        what = self._wrong(form, path, found)
        return None if what is None else Fault(form, seed, what)

    def _wrong(self, form: str, path: Path, found: dict[str, Any]) -> str | None:
        for name in ("ended", "late", "raised"):
            if name in found:
                return f"{name}: {found[name]}"
        if found["seconds"] > SECONDS:
            return f"took {found['seconds']} s"
        for said in [found["refused"]] if "refused" in found else found["said"]:
            if "\n" in said or not said.rstrip(")").endswith((".", "?")) or _INTERNAL.search(said):
                return f"said: {said[:300]}"
        self.outcomes["refused" if "refused" in found else "opened"] += 1
        return self._differing(form, path, found.get("values", {}))

    def _differing(self, form: str, path: Path, values: dict[str, str]) -> str | None:
        if not values or form not in LIBRARIES:
            return None
        library = self.library.ask(form=form, path=str(path), library=True).get("values", {})
        for name, value in values.items():
            expected = library.get(name, "unread")
            if expected not in ("unread", value):
                return f"other values: `{name}` {value}, the library reads {expected}"
            self.outcomes["the same values" if expected == value else "not compared"] += 1
        return None


@contextmanager
def fuzzer() -> Iterator[Fuzzer]:
    """Give a fuzzer whose processes and files go with it."""
    with TemporaryDirectory(prefix="fuzz-") as folder:
        made = Fuzzer(Path(folder))
        try:
            yield made
        finally:
            made.ours.end()
            made.library.end()


def main() -> int:
    """Try many, and print each fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    parser.add_argument("--count", type=int, default=1000, help="cases of each form")
    parser.add_argument("--form", choices=SEEDS, action="append", help="only these forms")
    parser.add_argument("--keep", type=Path, help="a folder for files that show a fault")
    given = parser.parse_args()
    count = 0
    with fuzzer() as tried:
        for seed in range(given.seed, given.seed + given.count):
            for form in given.form or SEEDS:
                fault = tried.fault(form, seed)
                if fault is None:
                    continue
                count += 1
                sys.stdout.write(f"{form} {seed}: {fault.what}\n")
                sys.stdout.flush()
                if given.keep is not None:
                    path = tried.case(form, seed)
                    target = given.keep / f"{form}-{seed}"
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.copytree(path.parent, target)
        sys.stdout.write(f"{count} faults; {dict(tried.outcomes)}\n")
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
