//! Tests of the C interface: its header, its border, and its answers compared with the core's
//! answers.

mod border;
mod example;
mod header;
mod ns3;
mod packets;
mod support;
