//! Tests pages in a real browser, and traces with other programs.

mod browser;
mod http;
mod latency;
mod pages;
mod reports;
mod support;
mod traces;
