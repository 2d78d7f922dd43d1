//! Macros that declare records, and the enumerations of their columns.

/// Declares the row of a table: visibility, name of the struct, name of the table, and its columns.
///
/// The documentation of the struct describes a row, and the documentation of a field describes its
/// column. Both kinds of documentation appear in `docs/reference/tables.md`. The columns'
/// documentation is also in result files, so write it for readers of tables. The suffix of a
/// column's name is the column's unit ([`Column::unit`](crate::Column::unit)).
///
/// `class: u16 as ClassName` is a field of type `u16` that the table stores as the name
/// of the class ([`ClassName`](crate::ClassName)).
///
/// ```
/// use bufferlab_metrics::{ColumnKind, Record, SwitchName};
///
/// bufferlab_metrics::record! {
///     /// One reset of a switch.
///     pub ResetRow => "resets" {
///         /// Switch.
///         switch: u32 as SwitchName,
///         /// How long it forwarded nothing; empty if it did not recover.
///         outage_ns: Option<u64>,
///     }
/// }
///
/// let [switch, outage] = ResetRow::COLUMNS else { panic!("two columns") };
/// assert_eq!((switch.name, switch.kind), ("switch", ColumnKind::Switch));
/// assert_eq!((outage.name, outage.unit(), outage.nullable), ("outage_ns", Some("ns"), true));
/// assert_eq!(outage.description, "How long it forwarded nothing; empty if it did not recover");
/// ```
#[macro_export]
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        $visibility:vis $row:ident => $table:literal {
            $( $(#[doc = $documentation:literal])+ $column:ident: $field:ty $(as $stored:ty)?, )+
        }
    ) => {
        $(#[doc = $about])+
        #[doc = concat!("\n\nA row of the table `", $table, "`.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        $visibility struct $row {
            $( $(#[doc = $documentation])+ $visibility $column: $field, )+
        }

        impl $crate::Record for $row {
            const NAME: &'static str = $table;
            const DESCRIPTION: &'static str = $crate::description(concat!($($about),+));
            const COLUMNS: &'static [$crate::Column] = &[
                $( $crate::Column::new::<$crate::record!(@stored $field $(, $stored)?)>(
                    stringify!($column),
                    concat!($($documentation),+),
                ), )+
            ];

            fn write<W: $crate::CellWriter>(&self, to: &mut W) -> Result<(), W::Error> {
                $( <$crate::record!(@stored $field $(, $stored)?) as $crate::Cell>::write(&self.$column, to)?; )+
                Ok(())
            }

            fn read<R: $crate::CellReader>(from: &mut R) -> Result<Self, R::Error> {
                Ok(Self {
                    $( $column: <$crate::record!(@stored $field $(, $stored)?) as $crate::Cell>::read(from)?, )+
                })
            }
        }
    };
    // Type that stores a field: the type after `as`, or else the field's type.
    (@stored $field:ty) => { $field };
    (@stored $field:ty, $stored:ty) => { $stored };
}

/// Declares an enumeration that is a column: its variants and their words in tables.
/// The first variant is the default.
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $(#[doc = $first_documentation:literal])+ $first:ident => $first_word:literal,
            $( $(#[doc = $documentation:literal])+ $variant:ident => $word:literal, )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $first_documentation])+ #[default] $first,
            $( $(#[doc = $documentation])+ $variant, )+
        }

        impl $name {
            /// All variants of the enumeration, in the order of their declaration.
            pub const ALL: &'static [Self] = &[Self::$first, $(Self::$variant,)+];

            /// Word that result tables contain for the variant.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $( Self::$variant => $word, )+
                }
            }
        }

        impl $name {
            const NAMES: &'static [&'static str] = &[$first_word, $($word,)+];
        }

        $crate::declare::word_cell!($name);
    };
}

/// Turns an enumeration with `ALL`, `NAMES` and `name` into a column.
macro_rules! word_cell {
    ($name:ident) => {
        impl $crate::Cell for $name {
            type Field = Self;
            const KIND: $crate::ColumnKind = $crate::ColumnKind::Word;
            const WORDS: &'static [&'static str] = Self::NAMES;

            #[inline]
            fn write<W: $crate::CellWriter>(field: &Self, to: &mut W) -> Result<(), W::Error> {
                to.word(field.name());
                Ok(())
            }

            fn read<R: $crate::CellReader>(from: &mut R) -> Result<Self, R::Error> {
                let word = from.word().ok_or_else(|| from.fault($crate::CellFault::Empty))?;
                let known = Self::ALL.iter().copied().find(|one| one.name() == word);
                known.ok_or_else(|| from.fault($crate::CellFault::UnknownWord(word)))
            }
        }
    };
}

/// Declares the tables of a run, in the order of the manifest: the name of each table
/// and the record of its rows.
macro_rules! tables {
    ($($table:ident => $row:ident,)+) => {
        /// A result table of a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Table {
            $( #[doc = concat!("Its row is [`", stringify!($row), "`].")] $table, )+
        }

        impl Table {
            /// All result tables, in the order of the manifest.
            pub const ALL: [Self; [$(Self::$table),+].len()] = [$(Self::$table),+];

            /// Name of the table in the manifest, and of the table's file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$table => <$row as $crate::Record>::NAME,)+ }
            }

            /// Description of a row of the table.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$table => <$row as $crate::Record>::DESCRIPTION,)+ }
            }

            /// Columns of the table, from left to right.
            #[must_use]
            pub const fn columns(self) -> &'static [$crate::Column] {
                match self { $(Self::$table => <$row as $crate::Record>::COLUMNS,)+ }
            }
        }

        $( impl TableRow for $row {
            const TABLE: Table = Table::$table;
        } )+
    };
}

pub(crate) use {tables, word_cell, words};
