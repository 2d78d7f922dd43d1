//! Tests of the C interface: the header, wrong calls from C, and the answers of C functions,
//! compared with the core's answers.

mod border;
mod example;
mod header;
mod ns3;
mod packets;
mod support;
