//! Declares a table of the format once: its keys for the reader, the schema and the reference, the
//! struct that drivers use, and what reads plain values into it.
//!
//! ```text
//! table! {
//!     /// How hosts send.
//!     pub struct HostSpec read as HostKeys;
//!     static HOST = "[host]", "How hosts send.";
//!     keys {
//!         "nic" => nic: NicQueueing = choice(Kind::Words(NicQueueing::WORDS)), default("\"fair\""), "Order of …";
//!     }
//! }
//! ```
//!
//! A key names, in this order: itself, its field and the field's type, the getter of
//! [`crate::reader::Reader`] with the kind of value, its presence (`required(example)`,
//! `default(value)`, `optional(example)`, `computed(rule, example)`), and its documentation, which
//! the field shares. A field whose presence is `optional` or `computed` is an `Option`.
//!
//! The getter `hand` reads nothing: the section's file in `read/` does, and sets the field. A key
//! without a field is read there, too. `also` lists fields that several keys make. A field that
//! nobody sets makes `complete` yield `None`.

macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $Spec:ident read as $Read:ident;
        static $TABLE:ident = $title:literal, $about:literal;
        keys {
            $($key:literal $(=> $field:ident: $Type:ty)? = $getter:ident($kind:expr),
                $presence:ident($($argument:expr),+), $doc:literal;)+
        }
        $(also { $($(#[$also_meta:meta])* $also:ident: $Also:ty;)+ })?
    ) => {
        $(#[$meta])*
        pub struct $Spec {
            $($(
                #[doc = $doc]
                #[doc = concat!("\n\nKey `", $key, "`.")]
                pub $field: $Type,
            )?)+
            $($($(#[$also_meta])* pub $also: $Also,)+)?
        }

        /// What has been read of the table so far; `None`: nothing yet, or a wrong value.
        pub(crate) struct $Read {
            $($(pub(crate) $field: Option<$Type>,)?)+
            $($(pub(crate) $also: Option<$Also>,)+)?
        }

        impl $Read {
            /// Reads every key that has a getter.
            pub(crate) fn read(reader: &mut $crate::reader::Reader<'_>) -> Self {
                Self {
                    $($($field: $crate::format::declare::plain!($field, reader, $getter, $presence, $key),)?)+
                    $($($also: None,)+)?
                }
            }

            /// The table, once every field has a value.
            pub(crate) fn complete(self) -> Option<$Spec> {
                Some($Spec { $($($field: self.$field?,)?)+ $($($also: self.$also?,)+)? })
            }
        }

        /// The keys of the table.
        pub(crate) static $TABLE: $crate::format::TableSpec = $crate::format::TableSpec {
            title: $title,
            doc: $about,
            keys: &[$(bufferlab_document::spec::$presence($key, $kind, $($argument,)+ $doc)),+],
            variants: &[],
        };
    };
}

/// The value of one key: absent ones without a default are `Some(None)`.
macro_rules! plain {
    ($field:ident, $reader:ident, hand, $presence:ident, $key:literal) => {
        None
    };
    ($field:ident, $reader:ident, $getter:ident, optional, $key:literal) => {
        Some($reader.$getter($key))
    };
    ($field:ident, $reader:ident, $getter:ident, computed, $key:literal) => {
        Some($reader.$getter($key))
    };
    ($field:ident, $reader:ident, $getter:ident, $presence:ident, $key:literal) => {
        $reader.$getter($key)
    };
}

pub(super) use {plain, table};
