//! Readers for files of htsim: connection matrices and fat-tree topologies. The files may be from
//! either fork of htsim (ultraethernet/uet-htsim, Broadcom/csg-htsim).

pub(crate) mod matrix;
pub(crate) mod topology;
