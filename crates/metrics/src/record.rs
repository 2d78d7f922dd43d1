//! Records: rows of tables. Each column is declared once, with name, type and documentation.
//!
//! [`record!`](crate::record!) declares a record. The struct, its [`Column`]s, and the code that
//! writes and reads it follow from the declaration, so struct, columns and code cannot disagree. A
//! [`CellWriter`] receives the cells of a row, and a [`CellReader`] provides the cells;
//! `bufferlab-results` implements both traits for Parquet.

use std::error::Error;
use std::fmt;

/// Type in which a table stores a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Unsigned integers of 64 bits.
    U64,
    /// Unsigned integers of 32 bits.
    U32,
    /// Unsigned integers of 16 bits.
    U16,
    /// Unsigned integers of 8 bits.
    U8,
    /// Floating-point numbers of 64 bits.
    F64,
    /// A traffic class: an index in memory, and a name from a dictionary in the file.
    Class,
    /// A switch: an index in memory, and a name from a dictionary in the file.
    Switch,
    /// A host: an index in memory, and a name from a dictionary in the file.
    Host,
    /// A word from a short list, which the file stores as a dictionary.
    Word,
    /// Free text.
    Text,
}

impl ColumnKind {
    /// Name of the column type in a manifest and in the documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::U32 => "u32",
            Self::U16 => "u16",
            Self::U8 => "u8",
            Self::F64 => "f64",
            Self::Class | Self::Switch | Self::Host | Self::Word => "dictionary<string>",
            Self::Text => "string",
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column, which is also the name of the field.
    pub name: &'static str,
    /// Type of the column's cells.
    pub kind: ColumnKind,
    /// Whether a cell of the column may be empty.
    pub nullable: bool,
    /// Words allowed in a cell of the column, if the field is an enumeration; otherwise empty.
    pub words: &'static [&'static str],
    /// Description of the column: the field's documentation without its full stop.
    pub description: &'static str,
}

impl Column {
    /// Creates the column of a field that is stored as `C`, for [`record!`](crate::record!).
    #[must_use]
    pub const fn new<C: Cell>(name: &'static str, documentation: &'static str) -> Self {
        let (kind, nullable, words) = (C::KIND, C::NULLABLE, C::WORDS);
        Self { name, kind, nullable, words, description: description(documentation) }
    }

    /// Unit of the column, from the suffix of its name.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        [("_ns", "ns"), ("_ps", "ps"), ("_bytes", "B"), ("_packets", "packets"), ("_bps", "bit/s")]
            .into_iter()
            .find_map(|(ending, unit)| self.name.ends_with(ending).then_some(unit))
    }
}

/// Turns a documentation comment into a description without leading space and final full stop.
#[must_use]
pub const fn description(documentation: &'static str) -> &'static str {
    let text = documentation.trim_ascii();
    match text.as_bytes() {
        [before @ .., b'.'] => text.split_at(before.len()).0,
        _ => text,
    }
}

/// A row of a table. [`record!`](crate::record!) implements this trait.
pub trait Record: Sized {
    /// Name of the result table whose rows are these records.
    const NAME: &'static str;
    /// Description of a row of the table.
    const DESCRIPTION: &'static str;
    /// Columns of the table, from left to right.
    const COLUMNS: &'static [Column];

    /// Writes one cell per column, in the order of the columns.
    ///
    /// # Errors
    /// Returns the writer's error at the first cell that the writer refuses.
    fn write<W: CellWriter>(&self, to: &mut W) -> Result<(), W::Error>;

    /// Reads one cell per column, in the order of the columns.
    ///
    /// # Errors
    /// Returns the reader's error if a cell does not fit its field.
    fn read<R: CellReader>(from: &mut R) -> Result<Self, R::Error>;
}

/// Conversion between a field and a cell. Numbers, words and texts are stored unchanged. An index
/// ([`ClassName`], [`SwitchName`], [`HostName`]) is stored as the name of its class, switch or
/// host.
pub trait Cell {
    /// Type of the field in memory.
    type Field;
    /// Type of the table column that stores the field.
    const KIND: ColumnKind;
    /// Whether a cell of the column may be empty.
    const NULLABLE: bool = false;
    /// Words allowed in a cell, if the field is an enumeration.
    const WORDS: &'static [&'static str] = &[];

    /// Writes a field to the next cell of the writer's row.
    ///
    /// # Errors
    /// If the writer refuses the cell.
    fn write<W: CellWriter>(field: &Self::Field, to: &mut W) -> Result<(), W::Error>;

    /// Reads a field from the next cell of the reader's row.
    ///
    /// # Errors
    /// If the cell is not a valid value of the field.
    fn read<R: CellReader>(from: &mut R) -> Result<Self::Field, R::Error>;
}

/// Receives the cells of rows, one call per column in the order of the columns.
pub trait CellWriter {
    /// Error of a writer that refuses a cell.
    type Error;

    /// Writes an integer of 64 bits, or an empty cell.
    fn u64(&mut self, cell: Option<u64>);
    /// Writes an integer of 32 bits, or an empty cell.
    fn u32(&mut self, cell: Option<u32>);
    /// Writes an integer of 16 bits, or an empty cell.
    fn u16(&mut self, cell: Option<u16>);
    /// Writes an integer of 8 bits, or an empty cell.
    fn u8(&mut self, cell: Option<u8>);
    /// Writes a floating-point number, or an empty cell.
    fn f64(&mut self, cell: Option<f64>);
    /// Writes a word from a short list, such as a drop reason.
    fn word(&mut self, word: &str);
    /// Writes a text to a cell.
    fn text(&mut self, text: &str);
    /// Writes the name of the class, switch or host whose index is `index`. The column's kind
    /// determines the kind of name.
    ///
    /// # Errors
    /// If the index does not exist.
    fn name(&mut self, index: u32) -> Result<(), Self::Error>;
    /// Writes an empty cell of a word or a name.
    fn none(&mut self);
}

/// Provides the cells of rows, one call per column in the order of the columns.
pub trait CellReader {
    /// Error of a reader that cannot read a cell.
    type Error;

    /// Reads an integer of 64 bits; `None` is an empty cell.
    fn u64(&mut self) -> Option<u64>;
    /// Reads an integer of 32 bits; `None` is an empty cell.
    fn u32(&mut self) -> Option<u32>;
    /// Reads an integer of 16 bits; `None` is an empty cell.
    fn u16(&mut self) -> Option<u16>;
    /// Reads an integer of 8 bits; `None` is an empty cell.
    fn u8(&mut self) -> Option<u8>;
    /// Reads a floating-point number; `None` is an empty cell.
    fn f64(&mut self) -> Option<f64>;
    /// Reads a word from a short list; `None` is an empty cell.
    fn word(&mut self) -> Option<&'static str>;
    /// Reads a text; `None` is an empty cell.
    fn text(&mut self) -> Option<&str>;
    /// Reads the name of a class, switch or host as its index.
    ///
    /// # Errors
    /// If the cell is empty, or the name is unknown.
    fn name(&mut self) -> Result<u32, Self::Error>;
    /// Reads the name of a class, switch or host as its index; `None` is an empty cell.
    ///
    /// # Errors
    /// If the name is unknown.
    fn name_or_none(&mut self) -> Result<Option<u32>, Self::Error>;
    /// Creates the error about the last cell that was read.
    fn fault(&self, fault: CellFault) -> Self::Error;
}

/// Reason why a cell is not a valid value of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellFault {
    /// The cell is empty, but the column requires a value.
    Empty,
    /// The cell has a word that the enumeration lacks.
    UnknownWord(&'static str),
    /// The class index exceeds the number of classes.
    ClassTooLarge(u32),
}

impl fmt::Display for CellFault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(to, "empty"),
            Self::UnknownWord(word) => write!(to, "unknown word `{word}`"),
            Self::ClassTooLarge(index) => write!(to, "class number {index} is too large"),
        }
    }
}

impl Error for CellFault {}

macro_rules! numbers {
    ($($number:ident $kind:ident,)+) => {$(
        impl Cell for $number {
            type Field = Self;
            const KIND: ColumnKind = ColumnKind::$kind;

            #[inline]
            fn write<W: CellWriter>(field: &Self, to: &mut W) -> Result<(), W::Error> {
                to.$number(Some(*field));
                Ok(())
            }

            #[inline]
            fn read<R: CellReader>(from: &mut R) -> Result<Self, R::Error> {
                from.$number().ok_or_else(|| from.fault(CellFault::Empty))
            }
        }

        impl Cell for Option<$number> {
            type Field = Self;
            const KIND: ColumnKind = ColumnKind::$kind;
            const NULLABLE: bool = true;

            #[inline]
            fn write<W: CellWriter>(field: &Self, to: &mut W) -> Result<(), W::Error> {
                to.$number(*field);
                Ok(())
            }

            #[inline]
            fn read<R: CellReader>(from: &mut R) -> Result<Self, R::Error> {
                Ok(from.$number())
            }
        }
    )+};
}

numbers! { u64 U64, u32 U32, u16 U16, u8 U8, f64 F64, }

/// Words of columns without an enumeration in this crate, such as names from policies.
impl Cell for &'static str {
    type Field = Self;
    const KIND: ColumnKind = ColumnKind::Word;

    #[inline]
    fn write<W: CellWriter>(field: &Self, to: &mut W) -> Result<(), W::Error> {
        to.word(field);
        Ok(())
    }

    #[inline]
    fn read<R: CellReader>(from: &mut R) -> Result<Self, R::Error> {
        from.word().ok_or_else(|| from.fault(CellFault::Empty))
    }
}

impl Cell for Option<&'static str> {
    type Field = Self;
    const KIND: ColumnKind = ColumnKind::Word;
    const NULLABLE: bool = true;

    #[inline]
    fn write<W: CellWriter>(field: &Self, to: &mut W) -> Result<(), W::Error> {
        match field {
            Some(word) => to.word(word),
            None => to.none(),
        }
        Ok(())
    }

    #[inline]
    fn read<R: CellReader>(from: &mut R) -> Result<Self, R::Error> {
        Ok(from.word())
    }
}

impl Cell for String {
    type Field = Self;
    const KIND: ColumnKind = ColumnKind::Text;

    fn write<W: CellWriter>(field: &Self, to: &mut W) -> Result<(), W::Error> {
        to.text(field);
        Ok(())
    }

    fn read<R: CellReader>(from: &mut R) -> Result<Self, R::Error> {
        let text = from.text().map(str::to_owned);
        text.ok_or_else(|| from.fault(CellFault::Empty))
    }
}

/// Separator between the names of a path, which is unlikely in a scenario's node names.
const ARROW: &str = " → ";

/// A path through nodes of the network: the nodes' names in one text, separated by arrows.
impl Cell for Vec<String> {
    type Field = Self;
    const KIND: ColumnKind = ColumnKind::Text;

    fn write<W: CellWriter>(field: &Self, to: &mut W) -> Result<(), W::Error> {
        to.text(&field.join(ARROW));
        Ok(())
    }

    fn read<R: CellReader>(from: &mut R) -> Result<Self, R::Error> {
        let names = from.text().map(|text| text.split(ARROW).map(str::to_owned).collect());
        names.ok_or_else(|| from.fault(CellFault::Empty))
    }
}

/// Stores the index of a traffic class as the class's name.
#[derive(Clone, Copy, Debug)]
pub enum ClassName {}

impl Cell for ClassName {
    type Field = u16;
    const KIND: ColumnKind = ColumnKind::Class;

    #[inline]
    fn write<W: CellWriter>(field: &u16, to: &mut W) -> Result<(), W::Error> {
        to.name(u32::from(*field))
    }

    #[inline]
    fn read<R: CellReader>(from: &mut R) -> Result<u16, R::Error> {
        let index = from.name()?;
        u16::try_from(index).map_err(|_| from.fault(CellFault::ClassTooLarge(index)))
    }
}

impl Cell for Option<ClassName> {
    type Field = Option<u16>;
    const KIND: ColumnKind = ColumnKind::Class;
    const NULLABLE: bool = true;

    #[inline]
    fn write<W: CellWriter>(field: &Option<u16>, to: &mut W) -> Result<(), W::Error> {
        match field {
            Some(index) => to.name(u32::from(*index)),
            None => {
                to.none();
                Ok(())
            }
        }
    }

    #[inline]
    fn read<R: CellReader>(from: &mut R) -> Result<Option<u16>, R::Error> {
        let Some(index) = from.name_or_none()? else { return Ok(None) };
        u16::try_from(index).map(Some).map_err(|_| from.fault(CellFault::ClassTooLarge(index)))
    }
}

macro_rules! names {
    ($($(#[doc = $doc:literal])+ $name:ident $kind:ident,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Cell for $name {
            type Field = u32;
            const KIND: ColumnKind = ColumnKind::$kind;

            #[inline]
            fn write<W: CellWriter>(field: &u32, to: &mut W) -> Result<(), W::Error> {
                to.name(*field)
            }

            #[inline]
            fn read<R: CellReader>(from: &mut R) -> Result<u32, R::Error> {
                from.name()
            }
        }
    )+};
}

names! {
    /// Stores the index of a switch as the switch's name.
    SwitchName Switch,
    /// Stores the index of a host as the host's name.
    HostName Host,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;
    use std::collections::BTreeSet;

    #[test]
    fn a_description_is_the_comment_without_its_full_stop() {
        assert_eq!(
            description(concat!(" Start to end;", " empty if unfinished.")),
            "Start to end; empty if unfinished"
        );
        assert_eq!(description(" fct / ideal"), "fct / ideal");
        assert_eq!(description(""), "");
    }

    #[test]
    fn tables_and_their_columns_have_names_of_their_own() {
        let tables: BTreeSet<_> = Table::ALL.iter().map(|table| table.name()).collect();
        assert_eq!(tables.len(), Table::ALL.len());
        for table in Table::ALL {
            let columns: BTreeSet<_> = table.columns().iter().map(|column| column.name).collect();
            assert_eq!(columns.len(), table.columns().len(), "{}", table.name());
        }
    }

    #[test]
    fn kinds_and_words_follow_from_the_types() {
        let column = |table: Table, name: &str| {
            *table.columns().iter().find(|column| column.name == name).expect("a column of that name")
        };
        let state = column(Table::Flows, "state");
        assert_eq!((state.kind, state.words), (ColumnKind::Word, &["finished", "lossy", "unfinished"][..]));
        let fct = column(Table::Flows, "fct_ns");
        assert_eq!((fct.kind, fct.nullable, fct.unit()), (ColumnKind::U64, true, Some("ns")));
        assert_eq!(column(Table::Flows, "class").kind, ColumnKind::Class);
        assert_eq!(column(Table::Flows, "dst_host").kind, ColumnKind::Host);
        assert_eq!(column(Table::Watchdog, "switch").kind, ColumnKind::Switch);
        assert_eq!(column(Table::Watchdog, "rule").kind, ColumnKind::Word);
        assert_eq!(column(Table::PauseCycles, "members").kind, ColumnKind::Text);
    }
}
