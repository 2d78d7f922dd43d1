//! Rules for commit messages: the subject states the change, the body gives the reasons.
//!
//! The rules apply to every commit after the commit `SINCE`.
//! `.githooks/commit-msg` checks a message before the commit is created.

use crate::{output, read, root};
use std::process::Command;

/// Last commit before the rules for commit messages existed.
const SINCE: &str = "57e2587";
/// Maximum number of characters in the subject of a commit.
const SUBJECT_MAX: usize = 72;
/// Maximum number of files that a commit without a body may change.
const FILES_WITHOUT_BODY: usize = 3;

/// Verbs with which a commit's subject may begin, after an optional scope ("report: ").
const VERBS: &[&str] = &[
    "accept",
    "adapt",
    "add",
    "advise",
    "admit",
    "adopt",
    "align",
    "allow",
    "answer",
    "apply",
    "ask",
    "average",
    "avoid",
    "begin",
    "bound",
    "build",
    "bump",
    "cache",
    "calibrate",
    "check",
    "choose",
    "clamp",
    "clarify",
    "clear",
    "close",
    "collect",
    "compare",
    "complete",
    "compute",
    "copy",
    "correct",
    "count",
    "cover",
    "cut",
    "decide",
    "declare",
    "deduplicate",
    "default",
    "define",
    "delete",
    "derive",
    "describe",
    "detect",
    "disable",
    "discard",
    "divide",
    "document",
    "draw",
    "drop",
    "enable",
    "end",
    "escape",
    "estimate",
    "exclude",
    "execute",
    "expect",
    "explain",
    "export",
    "expose",
    "extend",
    "extract",
    "fill",
    "fit",
    "fix",
    "flatten",
    "fold",
    "follow",
    "force",
    "forget",
    "format",
    "forward",
    "freeze",
    "generate",
    "give",
    "group",
    "guard",
    "handle",
    "hide",
    "hold",
    "ignore",
    "implement",
    "import",
    "improve",
    "include",
    "inject",
    "inline",
    "install",
    "introduce",
    "join",
    "judge",
    "keep",
    "label",
    "leave",
    "let",
    "limit",
    "link",
    "list",
    "load",
    "lock",
    "log",
    "look",
    "lower",
    "make",
    "mark",
    "match",
    "measure",
    "mention",
    "merge",
    "mix",
    "model",
    "move",
    "name",
    "narrow",
    "note",
    "offer",
    "open",
    "order",
    "parse",
    "pass",
    "pause",
    "pin",
    "place",
    "play",
    "point",
    "prefer",
    "prevent",
    "print",
    "probe",
    "promise",
    "protect",
    "prove",
    "publish",
    "put",
    "raise",
    "read",
    "rebuild",
    "recognise",
    "record",
    "reduce",
    "refresh",
    "refuse",
    "regenerate",
    "register",
    "reject",
    "release",
    "remove",
    "rename",
    "render",
    "reorder",
    "repeat",
    "replace",
    "report",
    "require",
    "reserve",
    "reset",
    "resolve",
    "restore",
    "restrict",
    "resume",
    "return",
    "reuse",
    "revert",
    "reword",
    "rewrap",
    "rewrite",
    "round",
    "run",
    "sample",
    "say",
    "scale",
    "search",
    "send",
    "separate",
    "serve",
    "set",
    "share",
    "ship",
    "shorten",
    "show",
    "silence",
    "simplify",
    "simulate",
    "size",
    "skip",
    "sort",
    "speed",
    "spell",
    "split",
    "spread",
    "start",
    "state",
    "step",
    "stop",
    "store",
    "stream",
    "strip",
    "summarise",
    "support",
    "take",
    "tell",
    "test",
    "tighten",
    "time",
    "trace",
    "track",
    "train",
    "treat",
    "trim",
    "try",
    "turn",
    "type",
    "unify",
    "untangle",
    "untie",
    "update",
    "upgrade",
    "use",
    "validate",
    "verify",
    "wait",
    "wake",
    "warn",
    "widen",
    "wire",
    "withdraw",
    "word",
    "wrap",
    "write",
];

/// Finds the problems of a commit message. `files` is the number of files that the commit changes.
fn problems(message: &str, files: usize) -> Vec<String> {
    let mut lines = message.lines().filter(|line| !line.starts_with('#'));
    let subject = lines.next().unwrap_or_default();
    if subject.starts_with("Merge ") || subject.starts_with("Revert ") {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let length = subject.chars().count();
    if length > SUBJECT_MAX {
        problems.push(format!("the subject has {length} characters, more than {SUBJECT_MAX}"));
    }
    if subject.contains(';') || subject.ends_with('.') {
        problems.push("the subject has a semicolon or ends with a full stop: one change, one phrase".into());
    }
    let phrase = subject.split_once(": ").map_or(subject, |(_, phrase)| phrase);
    let verb = phrase.split_whitespace().next().unwrap_or_default().to_lowercase();
    if !VERBS.contains(&verb.as_str()) {
        problems.push(format!(
            "the subject begins with \"{verb}\", expected an imperative such as `report: wrap table headers`; \
             a verb that is missing joins VERBS in xtask/src/commits.rs"
        ));
    }
    if lines.next().is_some_and(|line| !line.trim().is_empty()) {
        problems.push("the second line is not empty".into());
    }
    let has_body = lines.any(|line| !line.trim().is_empty());
    if files > FILES_WITHOUT_BODY && !has_body {
        problems.push(format!("{files} files change, and no body says why"));
    }
    problems
}

/// Checks the commits since the rules for commit messages were introduced. In a shallow clone
/// without these commits, no commit is checked.
///
/// # Errors
/// If git fails.
pub fn check() -> Result<Vec<String>, String> {
    let range = format!("{SINCE}..HEAD");
    let mut git = Command::new("git");
    git.args(["log", "--no-merges", "--name-only", "--format=%x00%h%x01%B%x01", &range]).current_dir(root());
    let Ok(listed) = output(&mut git) else { return Ok(Vec::new()) };
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let mut found = Vec::new();
    for commit in listed.split('\0').filter(|commit| !commit.trim().is_empty()) {
        let mut parts = commit.split('\x01');
        let (hash, message) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let files = parts.next().unwrap_or_default().lines().filter(|line| !line.is_empty()).count();
        let problems = problems(message, files);
        found.extend(problems.into_iter().map(|problem| format!("commit {hash}: {problem}")));
    }
    Ok(found)
}

/// Checks the commit message in `file` before the commit is created.
///
/// # Errors
/// If the file cannot be read, or the message breaks a rule; the error lists the problems.
pub fn check_message(file: &str) -> Result<(), String> {
    let message = read(file)?;
    let mut git = Command::new("git");
    let staged = output(git.args(["diff", "--cached", "--name-only"]).current_dir(root()))?;
    let files = String::from_utf8_lossy(&staged).lines().count();
    let problems = problems(&message, files);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("the commit message:\n  {}", problems.join("\n  ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_a_message_is_checked() {
        for (message, files, wanted) in [
            ("report: wrap ranked table headers\n", 3, None),
            ("Add a policy\n\nBecause.\n", 40, None),
            ("Merge branch 'x'\n", 40, None),
            ("report: wrap ranked table headers\n", 4, Some("no body says why")),
            ("report: wrap ranked table headers\n# comment\n\n", 4, Some("no body says why")),
            ("A beginning that ends at once is said to\n", 1, Some("begins with \"a\"")),
            ("report: wrap headers; fix links\n", 1, Some("semicolon")),
            ("report: wrap headers.\n", 1, Some("full stop")),
            ("report: wrap headers\nmore\n", 1, Some("second line")),
        ] {
            let found = problems(message, files).join("");
            assert_eq!(found.is_empty(), wanted.is_none(), "{message}: {found}");
            assert!(wanted.is_none_or(|wanted| found.contains(wanted)), "{message}: {found}");
        }
        let long = format!("fix {}", "x".repeat(70));
        assert!(problems(&long, 1).join("").contains("74 characters"));
    }
}
