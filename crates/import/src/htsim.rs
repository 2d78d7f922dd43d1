//! Files of htsim: connection matrices and fat-tree topologies. Both forks are read
//! (ultraethernet/uet-htsim, Broadcom/csg-htsim).

pub(crate) mod matrix;
pub(crate) mod topology;
