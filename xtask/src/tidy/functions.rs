//! Finds functions that are too long and not in the list of exceptions.
//!
//! A reader can judge a function that fits on one page without scrolling.
//! The list of exceptions contains exactly the longer functions, and should only shrink. A function
//! that is not too long must leave the list. A function joins the list only with a reason.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, ItemFn, ItemMod, Signature, TraitItemFn};

/// Maximum number of lines of a function, from its name to its closing brace.
const LINES_MAX: usize = 70;

/// A function that may be longer than the limit of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Long {
    /// Path of the function's file, relative to the repository's root.
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    /// Reason why the function may be longer than the limit.
    pub(super) reason: &'static str,
}

/// All functions that may be longer than the limit, by file.
pub(super) const LONG: &[Long] = &[];

/// Returns functions in the files of `sources` (path and text) that are too long and not in
/// `listed`. The result also has the entries of `listed` that are not too long.
pub(super) fn check(sources: &[(&str, String)], listed: &[Long]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut used = vec![false; listed.len()];
    for (path, text) in sources {
        let found = match functions(text) {
            Ok(found) => found,
            Err(error) => {
                problems.push(format!("{path}: is no Rust file: {error}"));
                continue;
            }
        };
        for function in found.into_iter().filter(|function| function.lines > LINES_MAX) {
            let Function { name, line, lines } = function;
            match listed.iter().position(|long| long.path == *path && long.name == name) {
                Some(at) => used[at] = true,
                None => problems.push(format!(
                    "{path}:{line}: function {name} has {lines} lines, more than {LINES_MAX}; \
                     hint: give parts of it names"
                )),
            }
        }
    }
    for (long, _) in listed.iter().zip(used).filter(|(_, used)| !used) {
        let Long { path, name, reason } = long;
        problems.push(format!(
            "{path}: function {name} is not longer than {LINES_MAX} lines any more ({reason}); \
             hint: take it out of LONG"
        ));
    }
    problems
}

/// A function of a source file, and its number of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// Number of the function's first line in its file.
    line: usize,
    lines: usize,
}

/// Lists the functions of a source file, without test functions.
fn functions(text: &str) -> Result<Vec<Function>, String> {
    let file = syn::parse_file(text).map_err(|error| error.to_string())?;
    let mut found = Found::default();
    if !is_test(&file.attrs) {
        found.visit_file(&file);
    }
    Ok(found.functions)
}

#[derive(Default)]
struct Found {
    functions: Vec<Function>,
}

impl Found {
    fn note(&mut self, signature: &Signature, end: Span) {
        let line = signature.span().start().line;
        let lines = end.end().line + 1 - line;
        self.functions.push(Function { name: signature.ident.to_string(), line, lines });
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if !is_test(&function.attrs) {
            self.note(&function.sig, function.block.span());
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_test(&function.attrs) {
            self.note(&function.sig, function.block.span());
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = function.default.as_ref().map(Block::span) {
            self.note(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Whether the attributes of an item include `#[test]` or `#[cfg(test)]`.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|argument| argument == "test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code of a method with `lines` lines, after a comment and an attribute, with a
    /// nested function.
    fn method(name: &str, lines: usize) -> String {
        let body = "        work();\n".repeat(lines - 2);
        format!("impl Thing {{\n    /// Works.\n    #[inline]\n    pub fn {name}() {{\n{body}    }}\n}}\n")
    }

    #[test]
    fn a_function_that_is_too_long_is_found_with_its_line_and_tests_do_not_count() {
        let check = |text: String| check(&[("a.rs", text)], &[]);
        assert_eq!(check(method("fits", LINES_MAX)), [""; 0]);
        let found = check(method("too_long", LINES_MAX + 1));
        assert!(
            found.len() == 1 && found[0].starts_with("a.rs:4: function too_long has 71 lines"),
            "{found:?}"
        );
        let test = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", method("too_long", LINES_MAX + 1));
        assert_eq!(check(test), [""; 0]);
        let inner = format!("fn outer() {{\n{}}}\n", method("inner", LINES_MAX + 1));
        assert_eq!(check(inner).len(), 2);
        assert_eq!(check("fn { no Rust".to_owned()).len(), 1);
    }

    #[test]
    fn the_list_holds_exactly_the_functions_that_are_too_long() {
        let long = Long { path: "a.rs", name: "known", reason: "a table" };
        let check = |text: String| check(&[("a.rs", text)], &[long]);
        assert_eq!(check(method("known", LINES_MAX + 1)), [""; 0]);
        let found = check(method("known", LINES_MAX));
        assert!(found.len() == 1 && found[0].contains("take it out"), "{found:?}");
        let found = check(String::new());
        assert!(found.len() == 1 && found[0].contains("take it out"), "{found:?}");
    }
}
