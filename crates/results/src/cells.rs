//! Batches of Arrow columns, written and read cell by cell in the column order of a record.

use crate::error::TableError;
use crate::intern::intern;
use crate::manifest::NameTables;
use crate::schema::{data_type, schema};
use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int32Builder, StringBuilder, StringDictionaryBuilder, UInt8Builder,
    UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, SchemaRef};
use bufferlab_metrics::{CellFault, CellReader, CellWriter, Column, ColumnKind, Record};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Names of classes, switches and hosts, written in place of indices.
#[derive(Clone, Debug)]
pub(crate) struct NameArrays {
    classes: Arc<StringArray>,
    switches: Arc<StringArray>,
    hosts: Arc<StringArray>,
}

impl NameArrays {
    pub(crate) fn new(names: &NameTables) -> Self {
        let array = |list: &[String]| Arc::new(StringArray::from_iter_values(list));
        Self { classes: array(&names.classes), switches: array(&names.switches), hosts: array(&names.hosts) }
    }
}

enum Cells {
    U64(UInt64Builder),
    U32(UInt32Builder),
    U16(UInt16Builder),
    U8(UInt8Builder),
    F64(Float64Builder),
    /// Indices into a list of names that is known before the first row.
    Name(Int32Builder, Arc<StringArray>),
    Word(StringDictionaryBuilder<Int32Type>),
    Text(StringBuilder),
}

/// Collects the cells of a table's rows into a batch for Arrow.
pub(crate) struct BatchWriter {
    table: &'static str,
    described: &'static [Column],
    schema: SchemaRef,
    columns: Vec<Cells>,
    next: usize,
    rows: usize,
}

/// Panic message if [`Record::write`] or [`Record::read`] passes the columns out of order.
const OUT_OF_STEP: &str = "a record passes its cells in the order and kinds of its columns";

macro_rules! write_numbers {
    ($($number:ident $kind:ident,)+) => {$(
        #[inline]
        fn $number(&mut self, cell: Option<$number>) {
            match self.turn() {
                Cells::$kind(column) => column.append_option(cell),
                _ => panic!("{OUT_OF_STEP}"),
            }
        }
    )+};
}

impl CellWriter for BatchWriter {
    type Error = io::Error;

    write_numbers! { u64 U64, u32 U32, u16 U16, u8 U8, f64 F64, }

    fn name(&mut self, index: u32) -> io::Result<()> {
        let (table, at) = (self.table, self.next);
        let column = self.described[at].name;
        match self.turn() {
            Cells::Name(keys, names) if (index as usize) < names.len() => {
                keys.append_value(index as i32);
                Ok(())
            }
            Cells::Name(_, names) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "table {table}: `{column}` is {index}, but only {} names were given for it",
                    names.len()
                ),
            )),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    fn word(&mut self, word: &str) {
        match self.turn() {
            Cells::Word(column) => column.append_value(word),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    fn none(&mut self) {
        match self.turn() {
            Cells::Word(column) => column.append_null(),
            Cells::Name(keys, _) => keys.append_null(),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    fn text(&mut self, text: &str) {
        match self.turn() {
            Cells::Text(column) => column.append_value(text),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }
}

impl BatchWriter {
    pub(crate) fn new(table: &'static str, columns: &'static [Column], names: &NameArrays) -> Self {
        let cells = columns.iter().map(|column| match column.kind {
            ColumnKind::U64 => Cells::U64(UInt64Builder::new()),
            ColumnKind::U32 => Cells::U32(UInt32Builder::new()),
            ColumnKind::U16 => Cells::U16(UInt16Builder::new()),
            ColumnKind::U8 => Cells::U8(UInt8Builder::new()),
            ColumnKind::F64 => Cells::F64(Float64Builder::new()),
            ColumnKind::Class => Cells::Name(Int32Builder::new(), names.classes.clone()),
            ColumnKind::Switch => Cells::Name(Int32Builder::new(), names.switches.clone()),
            ColumnKind::Host => Cells::Name(Int32Builder::new(), names.hosts.clone()),
            ColumnKind::Word => Cells::Word(StringDictionaryBuilder::new()),
            ColumnKind::Text => Cells::Text(StringBuilder::new()),
        });
        let cells = cells.collect();
        Self { table, described: columns, schema: schema(columns), columns: cells, next: 0, rows: 0 }
    }

    /// Returns the builder of the next column of the row.
    #[inline]
    fn turn(&mut self) -> &mut Cells {
        self.next += 1;
        self.columns.get_mut(self.next - 1).expect(OUT_OF_STEP)
    }

    /// Appends a row of the table to which the writer belongs.
    pub(crate) fn push<R: Record>(&mut self, row: &R) -> io::Result<()> {
        row.write(self)?;
        assert_eq!(self.next, self.columns.len(), "{OUT_OF_STEP}");
        self.next = 0;
        self.rows += 1;
        Ok(())
    }

    /// Number of rows in the batch since the last [`Self::take`].
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the rows collected since the last call as an Arrow batch.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let arrays: Result<Vec<ArrayRef>, ArrowError> = self.columns.iter_mut().map(Cells::finish).collect();
        RecordBatch::try_new(self.schema.clone(), arrays?)
    }
}

impl Cells {
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::U64(column) => ArrayBuilder::finish(column),
            Self::U32(column) => ArrayBuilder::finish(column),
            Self::U16(column) => ArrayBuilder::finish(column),
            Self::U8(column) => ArrayBuilder::finish(column),
            Self::F64(column) => ArrayBuilder::finish(column),
            Self::Name(keys, names) => Arc::new(DictionaryArray::try_new(keys.finish(), names.clone())?),
            Self::Word(column) => ArrayBuilder::finish(column),
            Self::Text(column) => ArrayBuilder::finish(column),
        })
    }
}

enum ReadColumn<'a> {
    U64(&'a PrimitiveArray<UInt64Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U16(&'a PrimitiveArray<UInt16Type>),
    U8(&'a PrimitiveArray<UInt8Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    /// Dictionary keys of the cells, and for each key the index of its name in the run's table of
    /// names. An unknown name has the index `None`.
    Name(&'a PrimitiveArray<Int32Type>, Vec<Option<u32>>, &'a StringArray),
    Word(&'a PrimitiveArray<Int32Type>, Vec<&'static str>),
    Text(&'a StringArray),
}

/// Reads the cells of a batch row by row.
pub(crate) struct BatchReader<'a> {
    columns: Vec<(&'static Column, ReadColumn<'a>)>,
    row: usize,
    next: usize,
}

macro_rules! read_numbers {
    ($($number:ident $kind:ident,)+) => {$(
        #[inline]
        fn $number(&mut self) -> Option<$number> {
            let row = self.row;
            match self.turn() {
                ReadColumn::$kind(cells) => cells.is_valid(row).then(|| cells.value(row)),
                _ => panic!("{OUT_OF_STEP}"),
            }
        }
    )+};
}

impl CellReader for BatchReader<'_> {
    type Error = TableError;

    read_numbers! { u64 U64, u32 U32, u16 U16, u8 U8, f64 F64, }

    fn word(&mut self) -> Option<&'static str> {
        let row = self.row;
        match self.turn() {
            ReadColumn::Word(keys, words) => keys.is_valid(row).then(|| words[keys.value(row) as usize]),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    fn text(&mut self) -> Option<&str> {
        let row = self.row;
        match self.turn() {
            ReadColumn::Text(cells) => cells.is_valid(row).then(|| cells.value(row)),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    fn name(&mut self) -> Result<u32, TableError> {
        self.name_or_none()?.ok_or_else(|| self.fault(CellFault::Empty))
    }

    fn name_or_none(&mut self) -> Result<Option<u32>, TableError> {
        let row = self.row;
        match self.turn() {
            ReadColumn::Name(keys, ..) if keys.is_null(row) => Ok(None),
            ReadColumn::Name(keys, indices, names) => {
                let key = keys.value(row) as usize;
                let name = || TableError::UnknownName { name: names.value(key).to_owned() };
                indices[key].map(Some).ok_or_else(name)
            }
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    fn fault(&self, fault: CellFault) -> TableError {
        TableError::Cell { column: self.columns[self.next - 1].0.name, row: self.row, fault }
    }
}

impl<'a> BatchReader<'a> {
    /// Finds the columns of a table in `batch` by name; extra columns are ignored.
    pub(crate) fn new(
        columns: &'static [Column],
        names: &NameTables,
        batch: &'a RecordBatch,
    ) -> Result<Self, TableError> {
        let columns = columns.iter().map(|column| {
            let name = column.name;
            let array = batch.column_by_name(name).ok_or(TableError::MissingColumn { column: name })?;
            let (found, expected) = (array.data_type(), data_type(column.kind));
            if *found != expected {
                return Err(TableError::ColumnType { column: name, found: found.clone(), expected });
            }
            Ok((column, read_column(column, names, array)?))
        });
        Ok(Self { columns: columns.collect::<Result<_, _>>()?, row: 0, next: 0 })
    }

    /// Reads one row as a record of the table.
    pub(crate) fn row<R: Record>(&mut self, row: usize) -> Result<R, TableError> {
        (self.row, self.next) = (row, 0);
        R::read(self)
    }

    #[inline]
    fn turn(&mut self) -> &ReadColumn<'a> {
        self.next += 1;
        &self.columns.get(self.next - 1).expect(OUT_OF_STEP).1
    }
}

fn read_column<'a>(
    column: &Column,
    names: &NameTables,
    array: &'a ArrayRef,
) -> Result<ReadColumn<'a>, TableError> {
    // The caller has checked the data type of the column, so the casts cannot fail.
    let dictionary = || {
        let dictionary = array.as_dictionary::<Int32Type>();
        (dictionary.keys(), dictionary.values().as_string::<i32>())
    };
    let named = |list: &[String]| {
        let (keys, words) = dictionary();
        let numbers: HashMap<&str, u32> = list.iter().map(String::as_str).zip(0..).collect();
        let indices = words.iter().map(|word| numbers.get(word?).copied()).collect();
        ReadColumn::Name(keys, indices, words)
    };
    Ok(match column.kind {
        ColumnKind::U64 => ReadColumn::U64(array.as_primitive()),
        ColumnKind::U32 => ReadColumn::U32(array.as_primitive()),
        ColumnKind::U16 => ReadColumn::U16(array.as_primitive()),
        ColumnKind::U8 => ReadColumn::U8(array.as_primitive()),
        ColumnKind::F64 => ReadColumn::F64(array.as_primitive()),
        ColumnKind::Class => named(&names.classes),
        ColumnKind::Switch => named(&names.switches),
        ColumnKind::Host => named(&names.hosts),
        ColumnKind::Word => {
            let (keys, words) = dictionary();
            let interned = words.iter().map(|word| intern(word.unwrap_or_default()));
            ReadColumn::Word(keys, interned.collect::<Result<_, _>>()?)
        }
        ColumnKind::Text => ReadColumn::Text(array.as_string()),
    })
}
