"""HDF5 and NetCDF4 files, read with h5py.

Soft links within the file are alternative names of their targets. External links, datasets stored
in other files and virtual datasets are never followed: HDF5 would open files whose names come from
an untrusted file.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import IO, Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5l, h5o, h5p, h5r, h5s, h5t, h5z

from refexplorer.core.text import escape
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileObject,
    Unread,
    as_unread,
    error_text,
    one_block,
)
from refexplorer.formats.datafiles.hdf5_metadata import (
    attribute_value,
    chunk_table,
    dtype_of,
    fill_value_of,
    filters_of,
    plain,
)

OBJECTS = 100_000  # Links of a file that are followed
ATTRIBUTES = 10_000  # Attributes of a dataset that are read
_STRUCTURE = frozenset({
    "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates",
    "_nc3_strict", "_NCProperties",
})  # fmt: skip
"""Attributes by which HDF5's dimension scales and netCDF4 keep the structure of a file."""
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable."
_BROKEN_LINK = Unread("expression", "This link points to another file, or to nothing.")
_ERRORS = (OSError, RuntimeError, ValueError, TypeError, KeyError, OverflowError)
"""Errors that h5py raises for a broken file; it has no error class of its own."""


class Hdf5File(DataFile):
    """An HDF5 file."""

    form = "HDF5"

    def __init__(self, file: IO[bytes]) -> None:
        self._bytes = file
        access = h5p.create(h5p.FILE_ACCESS)
        access.set_fileobj_driver(h5py.h5fd.fileobj_driver, file)
        with as_unread("HDF5 cannot open the file", _ERRORS):
            self._file = h5f.open(repr(file).encode(), h5f.ACC_RDONLY, access)
            self._userblock = self._file.get_create_plist().get_userblock()
            self._list()

    def _list(self) -> None:
        """Find all links, and open their targets."""
        self._datasets: dict[str, h5d.DatasetID | Unread] = {}
        self._same: dict[str, str] = {}
        self._by_address: dict[int, str] = {}
        self._scales: dict[int, str] | None = None
        self._soft: dict[str, str] = {}
        self._arrays: dict[str, FileArray] = {}
        self._others: dict[str, FileObject] = {}
        self._groups: dict[str, h5g.GroupID] = {}
        self._count = self.declared = 0
        root = h5g.open(self._file, b"/")
        waiting = [(b"", root)]
        self._by_address[h5o.get_info(root).addr] = ""
        while waiting:
            waiting += reversed(self._listed(*waiting.pop()))
        for name in self._soft:
            path = self._targets(name)
            if (led := self._same.get(path, path)) in self._datasets:
                self._same[name] = led

    def _listed(self, folder: bytes, group: h5g.GroupID) -> list[tuple[bytes, h5g.GroupID]]:
        """Return the new groups among the links of a group; HDF5 would stop at a broken one."""
        links: list[tuple[bytes, int, int]] = []
        self._groups[_text(folder[:-1])] = group
        try:
            self.declared += group.get_num_objs()
            group.links.iterate(partial(self._take, links), info=True)
        except _ERRORS as error:
            if not folder:
                raise
            path = _text(folder[:-1])
            words = f"HDF5 cannot list the group {escape(path)}: {error_text(error)}."
            self._datasets[path] = Unread("damaged", words)
            del self._groups[path]
        self._count += len(links)
        if self._count > OBJECTS:
            raise Unread("cost", f"The file has more than {OBJECTS:,} groups and datasets.")
        groups = []
        for name, kind, address in links:
            path = _text(folder + name)
            if kind == h5l.TYPE_SOFT:
                target = _text(group.links.get_val(name))
                self._soft[path] = posixpath.join(f"/{_text(folder)}", target)
            elif kind != h5l.TYPE_HARD:
                self._others[path] = FileObject(path, "link", barrier=_BROKEN_LINK)
            elif address in self._by_address:
                self._same[path] = self._by_address[address]
            else:
                self._by_address[address] = path
                found = self._object(group, name, path)
                if isinstance(found, h5g.GroupID):
                    groups.append((folder + name + b"/", found))
                elif isinstance(found, h5d.DatasetID | Unread):
                    self._datasets[path] = found
                else:
                    self._others[path] = FileObject(path, "type")
        return groups

    def _take(self, links: list[tuple[bytes, int, int]], name: bytes, link: Any) -> bool:
        """Record a link, and return whether that is sufficient; this must not raise inside h5py."""
        links.append((name, link.type, link.u))
        return self._count + len(links) > OBJECTS

    def _object(self, group: h5g.GroupID, name: bytes, path: str) -> Any:
        """Open a named object, or return why it cannot be opened."""
        try:
            with as_unread(f"HDF5 cannot open {escape(path)}", _ERRORS):
                return h5o.open(group, name)
        except Unread as error:
            return error

    def _dataset(self, name: str) -> tuple[str, h5d.DatasetID]:
        """Return the path in `names` and the object at it."""
        path = self._same.get(name, name)
        found = self._datasets[path]
        if isinstance(found, Unread):
            raise found
        return path, found

    def names(self) -> tuple[str, ...]:
        return tuple(self._datasets)

    def other_names(self) -> Mapping[str, str]:
        return {name: led for name, led in self._same.items() if led in self._datasets}

    def objects(self) -> Iterator[FileObject]:
        for path in self._groups:
            if path:
                yield FileObject(path, "group")
        for path, found in self._datasets.items():
            yield self._as_object(path, found)
        yield from self._others.values()
        for path in self._same | self._soft:
            is_known = path in self._same or self._targets(path) in self._groups
            yield FileObject(path, "link", barrier=None if is_known else _BROKEN_LINK)

    def _targets(self, path: str) -> str:
        """Return the target path of a soft link."""
        return posixpath.normpath(self._soft[path]).strip("/")

    def _as_object(self, path: str, found: h5d.DatasetID | Unread) -> FileObject:
        if isinstance(found, Unread):
            return FileObject(path, "array", barrier=found)
        shape, stored = None, 0
        try:
            with as_unread(f"HDF5 cannot read {escape(path)}", _ERRORS):
                _require_own_values(path, found.get_create_plist())
                shape, stored = found.get_space().shape, found.get_storage_size()
                array = self.array(path)
                if array.is_dimension:
                    return FileObject(path, "dimension", shape, stored)
                if array.dtype.hasobject and not _is_text(found.get_type()):
                    raise _varying(path)
        except Unread as error:
            return FileObject(path, "array", shape, stored, error)
        return FileObject(path, "array", shape, stored)

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        return {path: self._attributes(group)[1] for path, group in self._groups.items()}

    def array(self, name: str) -> FileArray:
        path, dataset = self._dataset(name)
        with as_unread(f"HDF5 cannot read {escape(path)}", _ERRORS):
            if path not in self._arrays:
                self._arrays[path] = self._described(path, dataset)
            return self._arrays[path]

    def _described(self, path: str, dataset: h5d.DatasetID) -> FileArray:
        plist = dataset.get_create_plist()
        _require_own_values(path, plist)
        dtype = dtype_of(path, dataset.get_type())
        space = dataset.get_space()
        if space.get_simple_extent_type() == h5s.NULL:
            raise Unread("expression", f"{escape(path)} is empty: it has no values.")
        shape, most = space.get_simple_extent_dims(), space.get_simple_extent_dims(True)
        structure, attributes, unread = self._attributes(dataset)
        chunked = plist.get_layout() == h5d.CHUNKED
        return FileArray(
            path,
            shape,
            plist.get_chunk() if chunked else shape,
            dtype,
            tuple(filters_of(plist)),
            fill_value_of(plist, dtype),
            self._dimensions(path, len(shape), structure),
            attributes,
            unread,
            is_dimension=_first(structure.get("NAME")).startswith(_NO_VARIABLE),
            unlimited=tuple(axis for axis, size in enumerate(most) if size == h5s.UNLIMITED),
        )

    def _attributes(
        self, dataset: h5d.DatasetID
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
        """Return the structural attributes, all others, and the unreadable ones."""
        structure, attributes, unread = dict[str, Any](), dict[str, Any](), dict[str, str]()
        count = h5a.get_num_attrs(dataset)
        for index in range(min(count, ATTRIBUTES)):
            attribute = h5a.open(dataset, index=index)
            name = _text(attribute.name)
            if name == "REFERENCE_LIST":
                continue
            try:
                with as_unread("HDF5 cannot read it", _ERRORS):
                    value = attribute_value(attribute)
                    if name in _STRUCTURE:
                        structure[name] = value
                    else:
                        attributes[name] = plain(value)
            except Unread as error:
                unread[name] = str(error)
        if count > ATTRIBUTES:
            unread["…"] = f"It has {count:,} attributes, and {ATTRIBUTES:,} are read."
        return structure, attributes, unread

    def _dimensions(
        self, path: str, rank: int, structure: Mapping[str, Any]
    ) -> tuple[str, ...] | None:
        """Return the dimension names; dimensions without a scale are named as in netCDF."""
        found: list[str | None] = [None] * rank
        lists = structure.get("DIMENSION_LIST")
        if lists is not None:
            for axis, scales in enumerate(lists[:rank]):
                found[axis] = next(map(self._led_to, scales), None)
        elif _first(structure.get("CLASS")) == b"DIMENSION_SCALE":
            found = self._own_dimensions(path, rank, structure)
        if not any(found) and rank:
            return None
        return tuple(name or f"phony_dim_{axis}" for axis, name in enumerate(found))

    def _own_dimensions(
        self, path: str, rank: int, structure: Mapping[str, Any]
    ) -> list[str | None]:
        """Return the dimensions of a scale, first the one it represents."""
        numbers = structure.get("_Netcdf4Coordinates")
        if rank == 1 or numbers is None:
            own: list[str | None] = [posixpath.basename(path)]
            return own[:rank] + [None] * (rank - 1)
        if self._scales is None:
            self._scales = dict(self._numbered())
        return [self._scales.get(int(number)) for number in numbers[:rank]]

    def _numbered(self) -> Iterator[tuple[int, str]]:
        """Yield the dimensions of a netCDF file by number."""
        for path, dataset in self._datasets.items():
            if isinstance(dataset, h5d.DatasetID) and h5a.exists(dataset, b"_Netcdf4Dimid"):
                number = np.ravel(attribute_value(h5a.open(dataset, b"_Netcdf4Dimid")))
                yield int(number[0]), posixpath.basename(path)

    def _led_to(self, reference: h5r.Reference) -> str | None:
        """Return the name of a scale; None if the reference is empty or broken."""
        try:
            found = h5r.dereference(reference, self._file)
        except _ERRORS:
            return None
        if not isinstance(found, h5d.DatasetID):
            return None
        path = self._by_address.get(h5o.get_info(found).addr)
        return None if path is None else posixpath.basename(path)

    def chunks(self, name: str) -> FileChunks:
        path, dataset = self._dataset(name)
        with as_unread(f"HDF5 cannot read where the chunks of {escape(path)} are", _ERRORS):
            return self._located(path, dataset)

    def _located(self, path: str, dataset: h5d.DatasetID) -> FileChunks:
        plist = dataset.get_create_plist()
        _require_own_values(path, plist)
        if dataset.get_type().detect_class(h5t.VLEN) or _is_text(dataset.get_type()):
            raise _varying(path)
        layout = plist.get_layout()
        if layout == h5d.COMPACT:
            raise Unread(
                "expression",
                f"The values of {escape(path)} are part of its metadata (compact), without a "
                "byte range of their own.",
            )
        if layout == h5d.CHUNKED:
            return chunk_table(dataset, self._bytes, self._userblock)
        offset, size = dataset.get_offset(), dataset.get_storage_size()
        if size and offset is not None and offset + size > self._bytes.seek(0, 2):
            raise ValueError("they end after the file")
        found = one_block(dataset.rank, offset, size)
        return replace(found, masks=np.zeros(len(found.offsets), np.uint32))

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        path, dataset = self._dataset(name)
        if lacking := _lacking_filter(dataset):
            words = f"HDF5 has no plugin here for {lacking}, with which {escape(path)} is stored."
            raise Unread("library", words)
        with as_unread(f"HDF5 cannot read the values of {escape(path)}", _ERRORS):
            _require_own_values(path, dataset.get_create_plist())
            opened = h5py.Dataset(dataset)
            strings = h5py.check_string_dtype(opened.dtype)
            is_text = strings is not None and strings.length is None
            return np.asarray((opened.asstr("utf-8", "replace") if is_text else opened)[selection])

    def close(self) -> None:
        self._datasets.clear()
        self._file.close()


def _require_own_values(path: str, plist: h5p.PropDCID) -> None:
    """Reject datasets that would open other files when their shape or values are read."""
    if plist.get_layout() == h5d.VIRTUAL:
        raise Unread(
            "expression",
            f"{escape(path)} is a virtual dataset: its values are in other datasets or files.",
        )
    if plist.get_external_count():
        raise Unread("expression", f"The values of {escape(path)} are in other files.")


def _lacking_filter(dataset: h5d.DatasetID) -> str:
    """Return the number and name of a filter that is not installed; empty if all are."""
    plist = dataset.get_create_plist()
    used = map(plist.get_filter, range(plist.get_nfilters()))
    lacking = (each for each in used if not h5z.filter_avail(each[0]))
    names = ((code, _text(name).partition(";")[0]) for code, *_, name in lacking)
    return next((f"filter {code} ({escape(name, 80)})" for code, name in names), "")


def _varying(path: str) -> Unread:
    words = f"The values of {escape(path)} vary in length, so its chunks have only their addresses."
    return Unread("expression", words)


def _is_text(kind: h5t.TypeID) -> bool:
    return isinstance(kind, h5t.TypeStringID) and kind.is_variable_str()


def _first(value: Any) -> bytes:
    """Return a text of the structure."""
    found = np.ravel(value)[0] if value is not None and np.size(value) else b""
    return found if isinstance(found, bytes) else str(found).encode("utf-8", "replace")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
