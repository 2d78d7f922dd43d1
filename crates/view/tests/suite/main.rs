//! Pages in a real browser, and traces as other programs read them.

mod browser;
mod pages;
mod support;
mod traces;
