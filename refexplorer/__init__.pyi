"""The public names: ``__init__.py`` loads each from its module when it is first used."""

from .verbs.converting import Conversion as Conversion
from .verbs.converting import convert as convert
from .checks.advice.costs import AccessCost as AccessCost
from .checks.advice.advising import Advice as Advice
from .checks.advice.connections import Connection as Connection
from .checks.advice.rules import AdviceFinding as AdviceFinding, LayoutBound as LayoutBound
from .checks.advice.requests import ReaderCost as ReaderCost
from .checks.engine import AuditProgress as AuditProgress
from .io.reading.filesystem import ReferenceFileSystem as ReferenceFileSystem
from .io.reading.readings import ChunkState as ChunkState, Reading as Reading
from .io.reading.selection import Estimate as Estimate
from .io.reading.selection import ArrayReading as ArrayReading
from .io.reading.trace import Shard as Shard
from .io.reading.trace import Trace as Trace
from .io.reading.trace_value import ValueOrigin as ValueOrigin
from .checks.headlines import Claim as Claim, Headline as Headline
from .checks.ledger import Ledger as Ledger
from .checks.ledger import CheckedArray as CheckedArray
from .checks.report import Report as Report
from .checks.states import (
    FileState as FileState,
    LedgerState as LedgerState,
    ObjectState as ObjectState,
)
from .checks.terms import CheckLook as CheckLook, CheckTerms as CheckTerms
from .verbs.differing import Difference as Difference, diff as diff
from .core.errors import (
    AccessError as AccessError,
    DecodeError as DecodeError,
    FetchError as FetchError,
    InternalError as InternalError,
    LeftOutWarning as LeftOutWarning,
    LimitError as LimitError,
    RefexplorerError as RefexplorerError,
    SecretsWarning as SecretsWarning,
    SourceError as SourceError,
    SpecError as SpecError,
)
from .readers.verdicts import Dialects as Dialects, Verdict as Verdict
from .verbs.codes import CodeExplanation as CodeExplanation, explain_code as explain_code
from .formats.icechunk.facts import Container as Container, RepositoryFacts as RepositoryFacts
from .formats.icechunk.history import (
    RepositoryHistory as RepositoryHistory,
    RepositorySnapshot as RepositorySnapshot,
)
from .verbs.logins import Login as Login
from .verbs.opening import history as history
from .verbs.inferring import Inference as Inference, infer as infer
from .core.limits import Limits as Limits
from .verbs.opening import (
    dialects as dialects,
    expand as expand,
    open_references as open_references,
)
from .verbs.referenceset import ReferenceSet as ReferenceSet
from .refset.moves import ArrayMove as ArrayMove
from .refset.differences import KeyChange as KeyChange
from .refset.differences import FieldChange as FieldChange
from .refset.moves import Rename as Rename, Shift as Shift
from .refset.chunk_grid import ChunkReferences as ChunkReferences
from .refset.summary import Summary as Summary
from .refset.target_layout import (
    TargetLayout as TargetLayout,
    TargetRange as TargetRange,
    TargetSummary as TargetSummary,
)
from .refset.tree import Node as Node, Page as Page
from .spec.references import NodeType as NodeType
from .verbs.repair.repairing import Repair as Repair, repair as repair
from .spec.codes import Severity as Severity
from .spec.findings import Finding as Finding
from .spec.references import (
    Base64 as Base64,
    Inline as Inline,
    Kind as Kind,
    Range as Range,
    Reference as Reference,
    Url as Url,
)
from .spec.zarr_metadata import ArrayMeta as ArrayMeta
from .spec.derivation import TraceStep as TraceStep
from .verbs.opening import Expansion as Expansion
from .verbs.preflight import (
    Barrier as Barrier,
    Era as Era,
    Preflight as Preflight,
    preflight as preflight,
)
from .spec.codes import schema as schema
from .hosts.notebook.editor import TemplateEditor as TemplateEditor
from .hosts.notebook.editor import Exercises as Exercises
from .views.exercises.grading import (
    AnswerState as AnswerState,
    Grade as Grade,
    GradedAnswer as GradedAnswer,
    grade as grade,
)
from .hosts.notebook.widgets import (
    ArrayPreview as ArrayPreview,
    ChunkGrid as ChunkGrid,
    Explorer as Explorer,
    KeyInspector as KeyInspector,
    KeyTree as KeyTree,
    SetComparison as SetComparison,
    TargetMap as TargetMap,
    explore as explore,
)

__version__: str
__all__: list[str]
