//! The C interface: its header, its border, and its answers against the core's.

mod border;
mod example;
mod header;
mod ns3;
mod packets;
mod support;
