//! Pages in a real browser, and traces as other programs read them.

mod browser;
mod http;
mod latency;
mod pages;
mod reports;
mod support;
mod traces;
