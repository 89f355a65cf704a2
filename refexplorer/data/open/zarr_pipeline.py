"""The codec pipeline of Zarr for references: what a codec raises names the chunk and its target.

A pipeline is what Zarr lets other packages replace (``codec_pipeline.path``), for all arrays of a
process. Those of other stores get Zarr's own here, and where another one is configured, it stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import zarr
from zarr.core.array import create_codec_pipeline
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.registry import register_pipeline

from refexplorer.data.fetch.background import Stopped
from refexplorer.data.open.filesystem import ReferenceView
from refexplorer.data.open.refusals import sentence_of, undecodable
from refexplorer.errors import RefexplorerError

if TYPE_CHECKING:
    from zarr.abc.codec import CodecPipeline
    from zarr.abc.store import Store
    from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata

_SETTING = "codec_pipeline.path"
_DEFAULT = f"{BatchedCodecPipeline.__module__}.{BatchedCodecPipeline.__qualname__}"


class ChosenPipeline(BatchedCodecPipeline):
    """Makes Zarr's own pipeline, or for the arrays of references one that names chunks."""

    @classmethod
    def from_array_metadata_and_store(  # type: ignore[override]
        cls, array_metadata: ArrayV2Metadata | ArrayV3Metadata, store: Store
    ) -> CodecPipeline:
        """Return the pipeline of an array."""
        found: Any = create_codec_pipeline(array_metadata)
        is_ours = isinstance(_files_of(store), ReferenceView)
        return NamingPipeline.from_codecs(found) if is_ours else found

    @classmethod
    def from_codecs(cls, *arguments: Any, **options: Any) -> Any:
        """Return Zarr's own pipeline, such as that of the inner chunks of a shard."""
        return BatchedCodecPipeline.from_codecs(*arguments, **options)


class NamingPipeline(BatchedCodecPipeline):
    """Zarr's own pipeline, whose errors are those of this package."""

    async def read_batch(self, batch_info: Iterable[Any], *arguments: Any, **options: Any) -> Any:
        """Read some chunks.

        Raises
        ------
        RefexplorerError
            With the key of the first chunk that cannot be decoded, and its target.
        """
        batch = list(batch_info)
        try:
            return await super().read_batch(batch, *arguments, **options)
        except (RefexplorerError, Stopped):
            raise
        except Exception as error:  # a codec raises what it likes
            place = batch[0][0]  # of more than one, where Zarr is set so, the first that fails
            for each in batch if len(batch) > 1 else ():
                try:
                    await super().read_batch([each], *arguments, **options)
                except Exception:
                    place = each[0]
                    break
            view = _files_of(getattr(place, "store", None))
            if not isinstance(view, ReferenceView):
                raise
            raise undecodable(view.references, place.path, sentence_of(error)) from error


def _files_of(store: object) -> object:
    """Return the files that fsspec's wrapper for coroutines has, or None."""
    return getattr(getattr(store, "fs", None), "sync_fs", None)


def use_pipeline() -> None:
    """Have Zarr ask here for the pipeline of an array, unless it is set to ask elsewhere."""
    register_pipeline(ChosenPipeline)
    if zarr.config.get(_SETTING) == _DEFAULT:
        zarr.config.set({_SETTING: f"{ChosenPipeline.__module__}.{ChosenPipeline.__qualname__}"})
