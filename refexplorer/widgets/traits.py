"""Traits for what has no cheap comparison."""

from __future__ import annotations

from typing import Any

import traitlets

from refexplorer.referenceset import ReferenceSet


class ReferencesTrait(traitlets.TraitType[ReferenceSet | None, ReferenceSet | None]):
    """A reference set, told apart by identity.

    Traitlets compares the old and the new value, and two sets are equal if all their keys are:
    with a gen of 10^12 keys that comparison never ends.
    """

    default_value = None
    allow_none = True
    info_text = "a ReferenceSet"

    def validate(self, obj: Any, value: Any) -> ReferenceSet:
        """Refuse what is no reference set."""
        if not isinstance(value, ReferenceSet):
            self.error(obj, value)
        return value

    def set(self, obj: traitlets.HasTraits, value: ReferenceSet | None) -> None:
        """Keep the value, and notify if it is another object."""
        name = str(self.name)
        new, old = self._validate(obj, value), obj._trait_values.get(name)
        obj._trait_values[name] = new
        if new is not old:
            obj._notify_trait(name, old, new)
