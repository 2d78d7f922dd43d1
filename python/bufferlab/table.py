"""Result tables in the format of Arrow, with conversions to polars and pandas."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from . import _arguments, _html
from ._names import TableName
from .exceptions import MissingExtraError, ResultsError

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Table", "TableName"]

def _nullable(pandas: Any) -> dict[pa.DataType, Any]:
    """The types of pandas that represent missing numbers, by type of Arrow."""
    sizes = (8, 16, 32, 64)
    signed = {getattr(pa, f"int{bits}")(): getattr(pandas, f"Int{bits}Dtype")() for bits in sizes}
    unsigned = {getattr(pa, f"uint{bits}")(): getattr(pandas, f"UInt{bits}Dtype")() for bits in sizes}
    others = {
        pa.bool_(): pandas.BooleanDtype(),
        pa.float32(): pandas.Float32Dtype(),
        pa.float64(): pandas.Float64Dtype(),
        pa.string(): pandas.StringDtype(),
    }
    return {**signed, **unsigned, **others}


_ROWS_SHOWN = 10
"""Number of rows of a table that a notebook shows."""


class Table:
    """A result table in Arrow's memory format. The name of a column ends with its unit. Each column
    has a description.

    Libraries that read Arrow accept the table (``__arrow_c_stream__``);
    :attr:`arrow` is the ``pyarrow.Table``.

    >>> from bufferlab import run
    >>> flows = run("scenarios/star-incast.toml").flows
    >>> flows["fct_ns"].null_count, flows.num_rows > 0
    (0, True)
    """

    __slots__ = ("arrow", "name")

    def __init__(self, arrow: pa.Table, *, name: str = "table") -> None:
        self.arrow: pa.Table = _arguments.instance("arrow", arrow, pa.Table, "a pyarrow.Table")
        """The rows of the table as a ``pyarrow.Table``."""
        self.name = _arguments.text("name", name)
        """Name of the table, such as ``flows``."""

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], *, name: str) -> Table:
        """Reads a table from a Parquet file into memory."""
        name = _arguments.text("name", name, "the name of a table")
        path = _arguments.path("path", path, "the path of a file")
        try:
            return cls(pq.read_table(os.fspath(path)), name=name)
        except FileNotFoundError as error:
            raise ResultsError(
                f"there is no table {name}: {os.fspath(path)} is missing",
                "give the folder of a finished run, or run the scenario again",
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise ResultsError(
                f"{os.fspath(path)}: {error}",
                "the file was changed or damaged after the run: run the scenario again",
            ) from error

    @property
    def num_rows(self) -> int:
        """Number of rows of the table."""
        return int(self.arrow.num_rows)

    @property
    def columns(self) -> list[str]:
        """Names of the table's columns."""
        return list(self.arrow.column_names)

    def describe(self) -> dict[str, str]:
        """Returns the description of every column, by name of the column."""
        fields = ((field.name, field.metadata or {}) for field in self.arrow.schema)
        return {name: about.get(b"description", b"").decode() for name, about in fields}

    def to_arrow(self) -> pa.Table:
        """Returns the rows of the table as a ``pyarrow.Table``, without a copy."""
        return self.arrow

    def to_polars(self) -> polars.DataFrame:
        """Converts the table to a polars data frame.

        >>> from bufferlab import run
        >>> run("scenarios/star-incast.toml").flows.to_polars()["class"].dtype
        Categorical
        """
        try:
            import polars
        except ImportError as error:
            raise MissingExtraError("polars", "polars") from error
        frame = polars.from_arrow(self.arrow)
        assert isinstance(frame, polars.DataFrame), "a table of Arrow is a frame of polars"
        return frame

    def to_pandas(
        self,
        *,
        dtype_backend: Literal["numpy", "numpy_nullable", "pyarrow"] = "numpy",
        types_mapper: Callable[[pa.DataType], Any] | None = None,
    ) -> pandas.DataFrame:
        """Converts the table to a pandas data frame.

        Parameters
        ----------
        dtype_backend
            Types of the columns, as pandas names them. With ``"numpy"``, whole numbers with missing
            values become floats. ``"pyarrow"`` and ``"numpy_nullable"`` keep whole numbers.
        types_mapper
            A function from a type of Arrow to a type of pandas or ``None``, as for
            ``pyarrow.Table.to_pandas``; it precedes ``dtype_backend``.

        >>> from bufferlab import run
        >>> flows = run("scenarios/star-incast.toml").flows.to_pandas()
        >>> flows.groupby("class", observed=True).size().to_dict()
        {'incast': 140}
        >>> str(run("star-incast").flows.to_pandas(dtype_backend="pyarrow")["fct_ns"].dtype)
        'uint64[pyarrow]'
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas") from error
        backend = _arguments.choice("dtype_backend", dtype_backend, ("numpy", "numpy_nullable", "pyarrow"))
        if types_mapper is not None and not callable(types_mapper):
            raise _arguments.refuse("types_mapper", types_mapper, "a function from a type of Arrow to a type of pandas")
        mappers: dict[str, Callable[[pa.DataType], Any]] = {"pyarrow": pandas.ArrowDtype, "numpy_nullable": _nullable(pandas).get}
        chosen = types_mapper or mappers.get(backend)
        frame: pandas.DataFrame = self.arrow.to_pandas(types_mapper=chosen)
        return frame

    def to_pydict(self) -> dict[str, list[Any]]:
        """Returns the columns of the table as lists, by name of the column."""
        columns: dict[str, list[Any]] = self.arrow.to_pydict()
        return columns

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterates over the rows of the table as dictionaries; slow for large tables."""
        for batch in self.arrow.to_batches():
            yield from batch.to_pylist()

    def __getitem__(self, column: str) -> pa.ChunkedArray[Any]:
        if not isinstance(column, str) or column not in self.arrow.column_names:
            raise _arguments.unknown("column", "column", column, self.columns)
        return self.arrow.column(column)

    def _ipython_key_completions_(self) -> list[str]:
        return self.columns

    def __len__(self) -> int:
        return self.num_rows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return bool(self.arrow.equals(other.arrow))

    __hash__ = None  # type: ignore[assignment]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        capsule: object = self.arrow.__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
        return capsule

    def __arrow_c_schema__(self) -> object:
        return self.arrow.schema.__arrow_c_schema__()

    def _repr_html_(self) -> str:
        shown = self.arrow.slice(0, _ROWS_SHOWN).to_pylist()
        caption = f"Table {self.name}: {self.num_rows} rows"
        if len(shown) < self.num_rows:
            caption += f", the first {len(shown)}"
        return _html.table(caption, self.columns, (list(row.values()) for row in shown))

    def __repr__(self) -> str:
        columns = "\n".join(f"  {field.name}: {field.type}" for field in self.arrow.schema)
        return f"Table {self.name}: {self.num_rows} rows\n{columns}"
