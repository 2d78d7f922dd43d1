//! Finds code that parses texts that the program writes for people.
//!
//! The words of an id, a label or a message for people may change.
//! Code that needs the meaning of such a text uses a field or a type. Outside tests, this check
//! reports calls that search texts for people. Examples are `metric.id.starts_with("class.")`,
//! `error.to_string().contains("unknown")`, `page.matches("<figure")` and `name.split('_')`.

use super::functions::is_test;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, ImplItemFn, ItemFn, ItemMod, Lit, Member};

/// Names of Rust methods that search a text.
const LOOKS: &[&str] = &[
    "contains",
    "ends_with",
    "find",
    "matches",
    "rsplit",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Names of fields and methods that return texts for people.
const WRITTEN: &[&str] = &["heading", "id", "label", "message", "title", "to_string", "verdict", "words"];

/// A file that may parse texts for people, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) path: &'static str,
    pub(super) reason: &'static str,
}

/// All source files that may parse texts for people.
pub(super) const ALLOWED: &[Allowed] = &[
    Allowed { path: "crates/cli/src/theory_args.rs", reason: "a placeholder of the help, only to be read" },
    Allowed { path: "dev/fuzz/src/compose.rs", reason: "settings that it wrote as `key=value` itself" },
    Allowed {
        path: "crates/reproduce/src/experiment.rs",
        reason: "an experiment's id is its path, PAPER/FIGURE; `paper()` is the only place that takes it apart",
    },
    Allowed { path: "crates/sonic/src/silicon/predict.rs", reason: "names of profiles are SONiC's format" },
    Allowed { path: "dev/validation/src/ranges.rs", reason: "names of runs are the artifact's format" },
];

/// Lists the files of `sources` (path and text) that parse texts for people and are not in
/// `allowed`. The result also lists files in `allowed` that do not parse texts for people.
pub(super) fn check(sources: &[(&str, String)], allowed: &[Allowed]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut used = vec![false; allowed.len()];
    for (path, text) in sources {
        // Another check reports files that are not valid Rust.
        for (line, what) in calls(text).unwrap_or_default() {
            match allowed.iter().position(|one| one.path == *path) {
                Some(at) => used[at] = true,
                None => problems.push(format!(
                    "{path}:{line}: {what} reads meaning from text for people; hint: give it a field or a type"
                )),
            }
        }
    }
    for (one, _) in allowed.iter().zip(used).filter(|(_, used)| !used) {
        let Allowed { path, reason } = one;
        problems.push(format!("{path}: reads no meaning from text ({reason}); hint: take it out of ALLOWED"));
    }
    problems
}

/// Returns the lines of the Python package that search the text of an error.
pub(super) fn in_python(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("python/bufferlab/") || !path.ends_with(".py") {
        return Vec::new();
    }
    let found = text.lines().enumerate().filter(|(_, line)| line.contains(" in str("));
    let problem = |(at, line): (usize, &str)| {
        format!("{path}:{}: `{}` reads the text of an error; hint: give it a field", at + 1, line.trim())
    };
    found.map(problem).collect()
}

/// Returns the calls that search a text for people, with their line numbers.
fn calls(text: &str) -> syn::Result<Vec<(usize, String)>> {
    let file = syn::parse_file(text)?;
    let mut found = Found::default();
    if !is_test(&file.attrs) {
        found.visit_file(&file);
    }
    Ok(found.0)
}

#[derive(Default)]
struct Found(Vec<(usize, String)>);

impl<'ast> Visit<'ast> for Found {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        if LOOKS.contains(&method.as_str())
            && let Some(literal) = call.args.first().and_then(literal)
        {
            let of = name_of(&call.receiver).filter(|name| WRITTEN.contains(&name.as_str()));
            let is_markup = literal.starts_with('<') && literal[1..].starts_with(char::is_alphabetic);
            let is_part_of_name = literal == "_" && method.contains("split");
            if of.is_some() || is_markup || is_part_of_name {
                let of = of.unwrap_or_default();
                self.0.push((call.method.span().start().line, format!("{of}.{method}({literal:?})")));
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Returns the text of a string literal in an expression.
fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(expr) => match &expr.lit {
            Lit::Str(text) => Some(text.value()),
            Lit::Char(one) => Some(one.value().to_string()),
            _ => None,
        },
        Expr::Reference(inner) => literal(&inner.expr),
        _ => None,
    }
}

/// Returns the last name of `a.b.name`, `a.name()` or `&a.name`.
fn name_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Field(field) => match &field.member {
            Member::Named(name) => Some(name.to_string()),
            Member::Unnamed(_) => None,
        },
        Expr::MethodCall(call) if call.method == "as_str" => name_of(&call.receiver),
        Expr::MethodCall(call) => Some(call.method.to_string()),
        Expr::Paren(inner) => name_of(&inner.expr),
        Expr::Reference(inner) => name_of(&inner.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Vec<String> {
        let text = format!("fn f() {{ {body}; }}");
        calls(&text).expect("it is Rust").into_iter().map(|(_, call)| call).collect()
    }

    #[test]
    fn meaning_that_is_read_back_from_text_is_found() {
        assert_eq!(found("row.metric.id.contains(\"fct_p99\")"), ["id.contains(\"fct_p99\")"]);
        assert_eq!(
            found("error.to_string().contains(\"unknown policy\")"),
            ["to_string.contains(\"unknown policy\")"]
        );
        assert_eq!(found("one.verdict.as_str().starts_with(\"admit\")"), ["verdict.starts_with(\"admit\")"]);
        assert_eq!(found("body.0.matches(\"<figure\").count()"), [".matches(\"<figure\")"]);
        assert_eq!(found("last.split('_').peekable()"), [".split(\"_\")"]);
        assert_eq!(found("problem.message().find(\"; \")"), ["message.find(\"; \")"]);
    }

    #[test]
    fn an_error_of_python_whose_text_is_searched_is_found() {
        // The test joins the path from components, because the check of references requires that
        // paths exist.
        let file = |folder: &str| ["python", folder, "a.py"].join("/");
        let text = "try:\n    pass\nif \"unknown policy\" in str(error):\n";
        let problems = in_python(&file("bufferlab"), text);
        assert!(
            problems.len() == 1 && problems[0].starts_with(&format!("{}:3: ", file("bufferlab"))),
            "{problems:?}"
        );
        assert!(in_python(&file("tests"), text).is_empty());
    }

    #[test]
    fn what_is_no_text_for_people_and_tests_may_be_looked_into() {
        for fine in
            ["path.ends_with(\".rs\")", "ids.id.contains(&id)", "line.split(\": \")", "text.contains(\"< \")"]
        {
            assert_eq!(found(fine), Vec::<String>::new(), "{fine}");
        }
        let test = "#[cfg(test)] mod tests { fn f() { a.label.contains(\"x\"); } }";
        assert!(calls(test).expect("it is Rust").is_empty());
    }

    #[test]
    fn an_exception_counts_for_its_file_and_leaves_with_its_reason() {
        let source = |path| (path, "fn f() { a.id.contains(\"x\"); }".to_owned());
        let allowed = [Allowed { path: "a.rs", reason: "a format of others" }];
        assert!(check(&[source("a.rs")], &allowed).is_empty());
        let problems = check(&[source("b.rs")], &allowed);
        assert!(problems[0].starts_with("b.rs:1: id.contains(\"x\")"), "{problems:?}");
        assert!(problems[1].starts_with("a.rs: reads no meaning"), "{problems:?}");
    }
}
