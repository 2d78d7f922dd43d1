//! Tests of the readers: own small files of every format, damaged files, and real files.

mod formats;
mod peers;
mod refusals;
mod support;
