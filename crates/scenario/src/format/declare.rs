//! Declares a table of the format once. The declaration generates the keys for the reader, the
//! schema and the reference. The declaration also generates the struct that drivers use, and the
//! reader of plain values.
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
//! A key has the following parts, in this order:
//!
//! - its name in the file,
//! - its field and the field's type,
//! - the getter of [`crate::reader::Reader`] with the kind of value,
//! - its presence: `required(example)`, `default(value)`, `optional(example)` or
//!   `computed(rule, example)`,
//! - its documentation, which the field shares.
//!
//! A field whose presence is `optional` or `computed` is an `Option`. `also` declares fields whose
//! values come from several keys. `complete` returns `None` as long as a field is not set.
//!
//! For a key with the getter `hand`, the module in `read/` for the table reads the key and sets the
//! field. That module also reads keys without a field.
//!
//! A key without a field is declared as `"failed" -> failed: bool = …`: the macro reads its value,
//! and only the module in `read/` uses the value. A table of keys without fields belongs to a type
//! of another crate. The declaration of such a table begins with `struct ChangeKeys;`, and
//! generates no struct for drivers.

macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $Spec:ident read as $Read:ident;
        static $TABLE:ident = $title:literal, $about:literal;
        $(kind $kind_name:literal, $kind_about:literal;)?
        keys {
            $($key:literal $(-> $value:ident: $Value:ty)? $(=> $field:ident: $Type:ty)?
                = $getter:ident($kind:expr), $presence:ident($($argument:expr),+), $doc:literal;)+
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

        impl $Read {
            /// Returns the finished table, once every field has a value.
            pub(crate) fn complete(self) -> Option<$Spec> {
                Some($Spec { $($($field: self.$field?,)?)+ $($($also: self.$also?,)+)? })
            }
        }

        $crate::format::declare::table! {
            struct $Read;
            static $TABLE = $title, $about;
            $(kind $kind_name, $kind_about;)?
            keys {
                $($key $(-> $value: $Value)? $(=> $field: $Type)?
                    = $getter($kind), $presence($($argument),+), $doc;)+
            }
            also { $($($also: $Also;)+)? }
        }
    };
    (
        struct $Read:ident;
        static $TABLE:ident = $title:literal, $about:literal;
        $(kind $kind_name:literal, $kind_about:literal;)?
        keys {
            $($key:literal $(-> $value:ident: $Value:ty)? $(=> $field:ident: $Type:ty)?
                = $getter:ident($kind:expr), $presence:ident($($argument:expr),+), $doc:literal;)+
        }
        $(also { $($also:ident: $Also:ty;)* })?
    ) => {
        /// Values of the table's keys. A value is `None` if it is not read yet or is invalid.
        #[derive(Clone, Debug)]
        pub(crate) struct $Read {
            $($(pub(crate) $value: Option<$Value>,)?)+
            $($(pub(crate) $field: Option<$Type>,)?)+
            $($(pub(crate) $also: Option<$Also>,)*)?
        }

        impl $Read {
            /// Reads every key of the table that has a getter.
            pub(crate) fn read(reader: &mut $crate::reader::Reader<'_>) -> Self {
                Self {
                    $($($value: reader.$getter($key),)?)+
                    $($($field: $crate::format::declare::plain!($field, reader, $getter, $presence, $key),)?)+
                    $($($also: None,)*)?
                }
            }
        }

        /// Specification of the keys that the table may have.
        pub(crate) static $TABLE: $crate::format::TableSpec = $crate::format::declare::spec!(
            $title, $about,
            [$(bufferlab_document::spec::$presence($key, $kind, $($argument,)+ $doc)),+]
            $(, $kind_name, $kind_about)?
        );
    };
}

/// Reads the value of one key. An absent key without a default gives `Some(None)`.
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

/// Specification of a table. With the name of a kind, the table has the keys of this kind.
macro_rules! spec {
    ($title:literal, $about:literal, $keys:expr) => {
        $crate::format::TableSpec { title: $title, doc: $about, keys: &$keys, variants: &[] }
    };
    ($title:literal, $about:literal, $keys:expr, $kind:literal, $kind_about:literal) => {
        $crate::format::TableSpec {
            title: $title,
            doc: $about,
            keys: &[],
            variants: &[$crate::format::Variant { kind: $kind, doc: $kind_about, keys: &$keys }],
        }
    };
}

pub(super) use {plain, spec, table};
