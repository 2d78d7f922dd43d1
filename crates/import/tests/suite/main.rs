//! Tests the readers with small files of every format, damaged files, and real files.

mod formats;
mod peers;
mod refusals;
mod support;
