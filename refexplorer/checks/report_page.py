"""The page of a report, which needs nothing else: light and dark, and no scripts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from refexplorer.core.errors import SecretsWarning
from refexplorer.core.files import write_blocks
from refexplorer.core.masking import has_mask
from refexplorer.core.text import code, items, shown, table
from refexplorer.spec.codes import CODES

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{
  color-scheme: light dark;
  --line: #d8dbe0; --quiet: #5b6270; --good: #00664a; --bad: #a63a00;
  --state-0: #56b4e9; --state-1: #009e73; --state-2: #f0e442; --state-3: #d55e00;
  --state-4: #cc79a7; --state-5: #e69f00; --state-6: #8a8f99;
}}
@media (prefers-color-scheme: dark) {{
  :root {{ --line: #3b3f47; --quiet: #a3a9b5; --good: #4fd1a5; --bad: #ff9a62; }}
}}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
  padding: 0 1rem; }}
.refexplorer {{ overflow-x: auto; }}
p {{ margin: 1.5rem 0 .3rem; overflow-wrap: anywhere; }}
.good {{ color: var(--good); }}
.bad {{ color: var(--bad); }}
ul {{ margin: .3rem 0; padding-left: 1.2rem; }}
li {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ border-bottom: 1px solid var(--line); padding: .25rem 1rem .25rem 0; text-align: left;
  vertical-align: top; }}
th {{ color: var(--quiet); }}
td:last-child {{ overflow-wrap: anywhere; width: 50%; }}
td:has(> code:only-child) {{ min-width: 7.5rem; }}
@media (max-width: 45rem) {{
  th, td {{ padding-right: .5rem; }}
  td:last-child {{ width: auto; }}
}}
code {{ font: .87em ui-monospace, monospace; overflow-wrap: anywhere; }}
:is(th, td):has(.number) {{ font-variant-numeric: tabular-nums; text-align: right;
  white-space: nowrap; }}
summary {{ color: var(--quiet); cursor: pointer; }}
details ul {{ list-style: none; padding-left: 0; }}
.bar {{ background: repeating-linear-gradient(45deg, var(--line) 0 1px, transparent 1px 5px);
  display: flex; height: .5rem; margin: .5rem 0 .2rem; outline: 1px solid var(--line); }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def report_page(title: str, body: str) -> str:
    """Return a page; `title` and `body` are HTML already."""
    return _PAGE.format(title=title, body=body)


def write_report(path: str | os.PathLike[str], page: str) -> None:
    """Write a page to a file; warn before if addresses in it are not shown as they are."""
    if has_mask(page):
        warnings.warn(shown_without(path), SecretsWarning, stacklevel=3)
    write_blocks(Path(path), [page.encode()])


def shown_without(path: str | os.PathLike[str]) -> str:
    """Return the warning that a file has addresses without their secrets."""
    return (
        f"{os.fspath(path)} shows addresses without their signatures, tokens and passwords (***). "
        "Everybody who has them can use them until they expire: do not share the set."
    )


def titled(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], count: int = 0) -> str:
    """Return a table below its title, or nothing if it has no rows; `count` is that of all rows."""
    rows = list(rows)
    more = f"<p>… {count - len(rows):,} more.</p>" if count > len(rows) else ""
    return f"<p><b>{title}</b></p>{table(head, rows)}{more}" if rows else ""


def explained_code(name: str) -> str:
    """Return a code that opens, without a script, to what it means and what to do."""
    found = CODES[name]
    known = (found.meaning, found.cause, found.readers, f"{found.mend} {found.command}".rstrip())
    parts = items(shown(sentence) for sentence in known if sentence)
    return f"<details><summary>{code(name)}</summary>{parts}</details>"


def number(text: str) -> str:
    """Return a cell of a column of numbers."""
    return f'<span class="number">{text}</span>'


def bar(counts: Mapping[str, int], states: Sequence[str], absent: int = 0) -> str:
    """Return a bar of how many are in each state, by its colour; what is absent stays empty."""
    parts = "".join(
        f'<i style="background: var(--state-{states.index(state)}); flex: {count}"></i>'
        for state, count in counts.items()
    )
    return f'<span class="bar" aria-hidden="true">{parts}<i style="flex: {absent}"></i></span>'
