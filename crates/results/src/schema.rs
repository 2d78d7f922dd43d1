//! Names and types of tables and columns in Arrow and Parquet.

use arrow_schema::{DataType, Field, Schema};
use bufferlab_metrics::{Column, ColumnKind, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// File name of a table within the run's folder.
pub(crate) fn table_file(table: Table) -> String {
    format!("{}.parquet", table.name())
}

/// Returns the Arrow schema of `columns`; every field has its description
/// (and unit) as metadata.
pub(crate) fn schema(columns: &[Column]) -> Arc<Schema> {
    let fields: Vec<Field> = columns.iter().map(field).collect();
    Arc::new(Schema::new(fields))
}

fn field(column: &Column) -> Field {
    let mut metadata = BTreeMap::from([("description".to_owned(), column.description.to_owned())]);
    if let Some(unit) = column.unit() {
        metadata.insert("unit".to_owned(), unit.to_owned());
    }
    Field::new(column.name, data_type(column.kind), column.nullable).with_metadata(metadata)
}

/// Returns the Arrow type in which the file of a table stores a column.
pub(crate) fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::U64 => DataType::UInt64,
        ColumnKind::U32 => DataType::UInt32,
        ColumnKind::U16 => DataType::UInt16,
        ColumnKind::U8 => DataType::UInt8,
        ColumnKind::F64 => DataType::Float64,
        ColumnKind::Class | ColumnKind::Switch | ColumnKind::Host | ColumnKind::Word => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        ColumnKind::Text => DataType::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_carry_description_and_unit() {
        let schema = schema(Table::Flows.columns());
        let about =
            |name: &str, key: &str| schema.field_with_name(name).unwrap().metadata().get(key).cloned();
        assert_eq!(about("src_host", "description").as_deref(), Some("Sending host"));
        assert_eq!(about("fct_ns", "unit").as_deref(), Some("ns"));
        assert_eq!(about("src_host", "unit"), None);
    }
}
