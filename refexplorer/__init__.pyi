"""The public names: `__init__.py` loads each from its module when it is first used."""

from . import errors as errors, types as types
from .checks.advice.requests import Connection as Connection
from .core.errors import RefexplorerError as RefexplorerError
from .core.limits import Limits as Limits
from .hosts.notebook.editor import Exercises as Exercises, TemplateEditor as TemplateEditor
from .hosts.notebook.widgets import explore as explore
from .spec.codes import schema as schema
from .verbs.codes import explain_code as explain_code
from .verbs.converting import Conversion as Conversion, convert as convert
from .verbs.differing import diff as diff
from .verbs.inferring import infer as infer
from .verbs.opening import (
    dialects as dialects,
    expand as expand,
    history as history,
    open_references as open_references,
)
from .verbs.preflight import preflight as preflight
from .verbs.referenceset import ReferenceSet as ReferenceSet
from .verbs.repair.repairing import repair as repair
from .views.exercises.exercise_checks import grade as grade

__version__: str
__all__: list[str]
