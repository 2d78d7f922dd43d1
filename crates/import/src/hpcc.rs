//! Readers for files of HPCC, ns-3-alibabacloud, ns3-datacenter and SimAI.

pub(crate) mod flows;
pub(crate) mod lists;
pub(crate) mod rdma;
pub(crate) mod topology;
