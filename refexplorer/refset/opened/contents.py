"""The contents of an opened set, as they travel to other processes."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import uuid4
from weakref import WeakValueDictionary

from refexplorer.refset.opened.lookup_check import check_lookup
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.opened.written_forms import Forms
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.templates.template import Template


@dataclass(frozen=True, eq=False)
class Contents:
    """The columns of a set, its findings, its templates and what its columns have lost.

    Dask sends a set with each task of some schedulers. The pickle therefore holds the contents as
    bytes beside a name, and a process that has met the name does not read the bytes: it has the
    tree and the index of the set already.

    Attributes
    ----------
    name
        Of these contents, the same in each process.
    """

    opened: OpenedSet
    findings: Findings
    templates: Mapping[str, Template] = field(default_factory=dict)
    name: str = field(default_factory=lambda: uuid4().hex)
    forms: Forms = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.opened, self.findings, dict(self.templates), self.forms)
        written = pickle.dumps(parts, protocol=5)
        return _contents_again, (self.name, written)


_met: WeakValueDictionary[str, Contents] = WeakValueDictionary()
_kept: deque[Contents] = deque(maxlen=2)
"""The last ones, which would else be gone between two tasks."""


def _contents_again(name: str, written: bytes) -> Contents:
    found = _met.get(name)
    if found is None:
        opened, findings, templates, forms = pickle.loads(written)
        found = Contents(opened, findings, templates, name, forms)
        check_lookup(opened)
        _met[name] = found
    if found not in _kept:
        _kept.append(found)
    return found
