//! Tests of the C interface: the header, wrong calls from C, and the results of C functions, which
//! are compared with the core's results.

mod border;
mod example;
mod header;
mod ns3;
mod packets;
mod support;
