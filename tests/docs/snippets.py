"""Code that the Python reference shows; a test runs all of it, in this order, in one namespace."""

from __future__ import annotations

SNIPPETS = {
    "": """import refexplorer as rx
from refexplorer import demo  # small real sets, for the examples of this page""",
    "convert": """rx.convert(demo.path("sst.v0.json"), "sst.parq")
rx.convert("sst.parq", "sst.json.gz", rx.Conversion(renames=[("sst_", "s3://bucket/sst_")]))""",
    "dialects": """print(rx.dialects(demo.path("spec.v1.json")))""",
    "diff": """print(rx.diff(demo.path("sst.v0.json"), demo.path("sst.v1.json")))""",
    "explain_code": """print(rx.explain_code("overlapping-ranges"))""",
    "expand": """expansion = rx.expand(
    {"version": 1, "templates": {"u": "s3://bucket"}, "refs": {"x/0": ["{{u}}/f.nc", 0, 100]}}
)
expansion.v0  # {'x/0': ['s3://bucket/f.nc', 0, 100]}
expansion.diagnostics""",
    "explore": """explorer = rx.explore(demo.path("sst.v1.json"))
explorer.observe(lambda change: print(change.new), "selection")
explorer.selection = "sst/6.0.0\"""",
    "infer": """shorter = rx.infer(demo.path("sst.v0.json"))
print(shorter)
shorter.document""",
    "Limits": """rx.open_references(demo.path("sst.v1.json"), limits=rx.Limits(json_depth=50))""",
    "open_references": """refs = rx.open_references(demo.path("sst.v1.json"))
refs["sst/6.0.0"]  # Range(url='sst_2025-09.nc', offset=9163, length=10834)
rx.open_references({"x/0": b"bytes", "x/1": ("s3://bucket/f", 0, 10)})  # as kerchunk holds them

from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr.parsers import HDFParser

registry = ObjectStoreRegistry({"file://": LocalStore()})
manifests = HDFParser()(f"file://{demo.path('sst_2025-07.nc')}", registry)
print(rx.open_references(manifests))  # a virtual dataset of VirtualiZarr opens alike""",
    "preflight": """print(rx.preflight(str(demo.path("sst_2025-07.nc").parent / "sst_*.nc")))""",
    "ReferenceSet": """refs = rx.open_references(demo.path("sst.v1.json"))
print(refs)
refs.children("sst", start=2, stop=5).rows
list(refs.find("sst/*.0.1"))
refs.summary("sst").missing
print(refs.explain("wind/7.0.0"))
refs.to_xarray()""",
    "RefexplorerError": """try:
    rx.open_references("nosuch.json")
except rx.RefexplorerError as error:
    print(error)  # one sentence: what, where, and what to do""",
    "schema": """rx.schema(0)["title"]  # 'Reference set, version 0'""",
    "TemplateEditor": """editor = rx.TemplateEditor(demo.path("spec.v1.json").read_text())
editor.references.to_v0()""",
}
"""Public name → code; first what all the others need."""
