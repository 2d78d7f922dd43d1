//! Tests of the command line from a user's view: output, streams of the output, and files on disk.

mod content;
mod dctcp;
mod determinism;
mod failing;
mod flips;
mod flow_control;
mod hostile_names;
mod import;
mod json;
mod keeping;
mod kill;
mod limits;
mod mistakes;
mod new;
mod programs;
#[path = "../../../operator/tests/suite/redis.rs"]
mod redis;
#[path = "../../../operator/tests/suite/server.rs"]
mod server;
mod shipped;
mod sonic;
mod statements;
mod stdin;
mod stdout_is_data;
mod support;
mod sweep;
mod switch;
mod switch_bench;
mod terminal;
mod testbed;
mod testbed_shell;
mod theory;
mod tune;
mod variants;
mod view;
mod warm_up;
