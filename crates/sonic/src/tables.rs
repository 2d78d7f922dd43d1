//! Lists the configuration tables that are about buffers.

/// Names of the tables whose entries the reader reads.
pub const TABLES: &[&str] = &[
    "BUFFER_MAX_PARAM_TABLE",
    "BUFFER_PG",
    "BUFFER_POOL",
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PROFILE",
    "BUFFER_QUEUE",
    "CABLE_LENGTH",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "DEVICE_METADATA",
    "DOT1P_TO_TC_MAP",
    "DSCP_TO_FC_MAP",
    "DSCP_TO_TC_MAP",
    "EXP_TO_FC_MAP",
    "LOSSLESS_TRAFFIC_PATTERN",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "MPLS_TC_TO_TC_MAP",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "PFC_PRIORITY_TO_QUEUE_MAP",
    "PFC_WD",
    "PORT",
    "PORT_QOS_MAP",
    "QUEUE",
    "SCHEDULER",
    "SWITCH_TRIMMING",
    "TC_TO_DOT1P_MAP",
    "TC_TO_DSCP_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_QUEUE_MAP",
    "WRED_PROFILE",
];

/// Whether the reader reads the entries of a table.
pub(crate) fn is_known(table: &str) -> bool {
    TABLES.binary_search(&table).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(TABLES.is_sorted());
    }
}
