//! Cells between rows and Arrow columns: written and read in column order, checked against the kind.

use crate::manifest::NameTables;
use crate::table::{Column, ColumnKind, Table};
use crate::words::intern;
use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int32Builder, StringBuilder, StringDictionaryBuilder, UInt8Builder,
    UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, SchemaRef};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// The names that index columns are written as.
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
    /// Keys into names that are known beforehand.
    Name(Int32Builder, Arc<StringArray>),
    Word(StringDictionaryBuilder<Int32Type>),
    Text(StringBuilder),
}

/// Collects the cells of up to a batch of rows.
pub struct CellWriter {
    table: Table,
    schema: SchemaRef,
    columns: Vec<Cells>,
    next: usize,
    rows: usize,
}

/// The one message for a record whose `write` does not follow its `COLUMNS`: a defect of this crate.
const OUT_OF_STEP: &str = "a record writes its cells in the order and kinds of its columns";

macro_rules! plain_cells {
    ($($name:ident, $optional:ident, $variant:ident, $ty:ty;)*) => {$(
        pub(crate) fn $name(&mut self, value: $ty) {
            self.$optional(Some(value));
        }

        pub(crate) fn $optional(&mut self, value: Option<$ty>) {
            match self.turn() {
                Cells::$variant(column) => column.append_option(value),
                _ => panic!("{OUT_OF_STEP}"),
            }
        }
    )*};
}

impl CellWriter {
    pub(crate) fn new(table: Table, names: &NameArrays) -> Self {
        let columns = table.columns().iter().map(|column| match column.kind {
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
        Self { table, schema: table.schema(), columns: columns.collect(), next: 0, rows: 0 }
    }

    /// The builder whose turn it is.
    fn turn(&mut self) -> &mut Cells {
        self.next += 1;
        self.columns.get_mut(self.next - 1).expect(OUT_OF_STEP)
    }

    plain_cells! {
        u64, optional_u64, U64, u64;
        u32, optional_u32, U32, u32;
        u16, optional_u16, U16, u16;
        u8, optional_u8, U8, u8;
        f64, optional_f64, F64, f64;
    }

    /// An index of a class, switch or host, written as its name.
    pub(crate) fn name(&mut self, index: u32) -> io::Result<()> {
        let (table, at) = (self.table, self.next);
        match self.turn() {
            Cells::Name(keys, names) if (index as usize) < names.len() => {
                keys.append_value(index as i32);
                Ok(())
            }
            Cells::Name(_, names) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "table {}: `{}` is {index}, but only {} names were given for it",
                    table.name(),
                    table.columns()[at].name,
                    names.len()
                ),
            )),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    pub(crate) fn word(&mut self, word: &str) {
        match self.turn() {
            Cells::Word(column) => column.append_value(word),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        match self.turn() {
            Cells::Text(column) => column.append_value(text),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    /// The row is complete.
    pub(crate) fn end_row(&mut self) {
        assert_eq!(self.next, self.columns.len(), "{OUT_OF_STEP}");
        self.next = 0;
        self.rows += 1;
    }

    /// Rows since the last [`Self::take`].
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The collected rows as a batch.
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
    /// Keys, and for every key the index of its name in the run's table (`None`: unknown name).
    Name(&'a PrimitiveArray<Int32Type>, Vec<Option<u32>>, &'a StringArray),
    Word(&'a PrimitiveArray<Int32Type>, Vec<&'static str>),
    Text(&'a StringArray),
}

/// Reads the cells of a batch row by row.
pub struct CellReader<'a> {
    columns: Vec<(&'static Column, ReadColumn<'a>)>,
    row: usize,
    next: usize,
}

macro_rules! plain_reads {
    ($($name:ident, $optional:ident, $variant:ident, $ty:ty;)*) => {$(
        pub(crate) fn $name(&mut self) -> Result<$ty, String> {
            let column = self.next;
            self.$optional()?.ok_or_else(|| self.empty(column))
        }

        pub(crate) fn $optional(&mut self) -> Result<Option<$ty>, String> {
            let row = self.row;
            match self.turn() {
                ReadColumn::$variant(cells) => Ok(cells.is_valid(row).then(|| cells.value(row))),
                _ => panic!("{OUT_OF_STEP}"),
            }
        }
    )*};
}

impl<'a> CellReader<'a> {
    /// Finds the table's columns in `batch` by name; extra columns are ignored.
    pub(crate) fn new(table: Table, names: &NameTables, batch: &'a RecordBatch) -> Result<Self, String> {
        let columns = table.columns().iter().map(|column| {
            let array = batch
                .column_by_name(column.name)
                .ok_or_else(|| format!("column `{}` is missing", column.name))?;
            if *array.data_type() != column.kind.data_type() {
                return Err(format!(
                    "column `{}` is {}, expected {}",
                    column.name,
                    array.data_type(),
                    column.kind.data_type()
                ));
            }
            Ok((column, read_column(column, names, array)?))
        });
        Ok(Self { columns: columns.collect::<Result<_, String>>()?, row: 0, next: 0 })
    }

    /// Goes to the start of `row`.
    pub(crate) fn seek(&mut self, row: usize) {
        (self.row, self.next) = (row, 0);
    }

    fn turn(&mut self) -> &ReadColumn<'a> {
        self.next += 1;
        &self.columns.get(self.next - 1).expect(OUT_OF_STEP).1
    }

    fn empty(&self, column: usize) -> String {
        format!("column `{}` is empty in row {}", self.columns[column].0.name, self.row)
    }

    plain_reads! {
        u64, optional_u64, U64, u64;
        u32, optional_u32, U32, u32;
        u16, optional_u16, U16, u16;
        u8, optional_u8, U8, u8;
        f64, optional_f64, F64, f64;
    }

    /// The index of a class, switch or host.
    pub(crate) fn name(&mut self) -> Result<u32, String> {
        let (row, column) = (self.row, self.next);
        match self.turn() {
            ReadColumn::Name(keys, ..) if keys.is_null(row) => Err(self.empty(column)),
            ReadColumn::Name(keys, indices, words) => {
                let key = keys.value(row) as usize;
                indices[key]
                    .ok_or_else(|| format!("the manifest does not know the name `{}`", words.value(key)))
            }
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    pub(crate) fn word(&mut self) -> Result<&'static str, String> {
        let (row, column) = (self.row, self.next);
        match self.turn() {
            ReadColumn::Word(keys, _) if keys.is_null(row) => Err(self.empty(column)),
            ReadColumn::Word(keys, words) => Ok(words[keys.value(row) as usize]),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, String> {
        let (row, column) = (self.row, self.next);
        match self.turn() {
            ReadColumn::Text(cells) if cells.is_null(row) => Err(self.empty(column)),
            ReadColumn::Text(cells) => Ok(cells.value(row).to_owned()),
            _ => panic!("{OUT_OF_STEP}"),
        }
    }
}

fn read_column<'a>(
    column: &Column,
    names: &NameTables,
    array: &'a ArrayRef,
) -> Result<ReadColumn<'a>, String> {
    // The data type was compared with the column's kind, so the casts cannot fail.
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
            let interned: Result<Vec<_>, String> =
                words.iter().map(|w| intern(w.unwrap_or_default())).collect();
            ReadColumn::Word(keys, interned?)
        }
        ColumnKind::Text => ReadColumn::Text(array.as_string()),
    })
}
