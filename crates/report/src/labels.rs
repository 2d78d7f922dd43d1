//! Short labels for people: pages and texts omit the parts of a label that all compared variants
//! share.
//!
//! A label such as `dt(alpha=0.5) + buffer=2 MB` has a policy, parameters and changes. Files for
//! programs keep whole labels.

use bufferlab_document::call::{Assignment, Mistake, call_in, unquoted};

/// Short labels of variants, and the label parts that all variants share.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Short {
    pub(crate) labels: Vec<String>,
    /// Parts that all labels share: `dt`, `alpha=0.5`, `buffer=2 MB`.
    pub(crate) common: Vec<String>,
}

/// Parts of a variant's label: policy, parameters and changes.
struct Parts<'a> {
    policy: &'a str,
    parameters: Vec<&'a str>,
    changes: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    /// Splits a label into its parts. A label that is no variant counts as a policy's name.
    fn parse(label: &'a str) -> Self {
        let whole = Self { policy: label, parameters: Vec::new(), changes: Vec::new() };
        Self::of_variant(label).unwrap_or(whole)
    }

    fn of_variant(label: &'a str) -> Result<Self, Mistake> {
        let unquoted = unquoted(label, 0)?;
        let is_plus = |at: usize| label[..at].ends_with(' ') && label[at + 1..].starts_with(' ');
        let pluses = unquoted.iter().filter(|(at, c, depth)| *c == '+' && *depth == 0 && is_plus(*at));
        let mut ends: Vec<usize> = pluses.map(|(at, ..)| *at).collect();
        ends.push(label.len());
        let head = call_in(label, 0..ends[0], &unquoted)?;
        let changes = ends.windows(2).map(|pair| label[pair[0] + 1..pair[1]].trim()).collect();
        let assignment = |one: &Assignment<'_>| &label[one.key.start..one.value.range().end];
        let parameters = head.parameters.iter().map(assignment).collect();
        Ok(Self { policy: head.name.text, parameters, changes })
    }

    fn rest<'b>(list: &'b [&'a str], common: &'b [&str]) -> impl Iterator<Item = &'a str> + 'b {
        list.iter().copied().filter(|part| !common.contains(part))
    }
}

/// Returns the label parts that all labels have, in the order of the first label.
fn common<'a>(all: &[Parts<'a>], list: impl for<'b> Fn(&'b Parts<'a>) -> &'b [&'a str]) -> Vec<&'a str> {
    let in_all = |part: &&str| all.iter().all(|other| list(other).iter().any(|known| known == part));
    all.first().map(|first| list(first).iter().copied().filter(in_all).collect()).unwrap_or_default()
}

/// Returns short labels for people, and the label parts that all labels share. The short labels
/// omit the shared parts. Without shared parts the labels are unchanged.
#[must_use]
pub fn short_labels(labels: &[String]) -> (Vec<String>, Vec<String>) {
    short(labels).map_or_else(|| (labels.to_vec(), Vec::new()), |short| (short.labels, short.common))
}

/// Short forms of labels; `None` if the labels have no common part, or if the short
/// forms would be equal.
pub(crate) fn short(labels: &[String]) -> Option<Short> {
    let parts: Vec<Parts<'_>> = labels.iter().map(|label| Parts::parse(label)).collect();
    let [first, others @ ..] = parts.as_slice() else { return None };
    if others.is_empty() {
        return None;
    }
    let parameters = common(&parts, |of| &of.parameters);
    let changes = common(&parts, |of| &of.changes);
    let is_bare = |of: &Parts<'_>| {
        Parts::rest(&of.parameters, &parameters).next().is_none()
            && Parts::rest(&of.changes, &changes).next().is_none()
    };
    // Every label keeps its policy if a label without policy would be empty.
    let without_policy =
        others.iter().all(|other| other.policy == first.policy) && !parts.iter().any(is_bare);
    let shorten = |of: &Parts<'_>| {
        let inner = Parts::rest(&of.parameters, &parameters).collect::<Vec<_>>().join(", ");
        let head = match (without_policy, inner.is_empty()) {
            (true, true) => None,
            (true, false) => Some(inner),
            (false, true) => Some(of.policy.to_owned()),
            (false, false) => Some(format!("{}({inner})", of.policy)),
        };
        let changes = Parts::rest(&of.changes, &changes).map(str::to_owned);
        head.into_iter().chain(changes).collect::<Vec<_>>().join(" + ")
    };
    let short: Vec<String> = parts.iter().map(shorten).collect();
    let differ = short.iter().enumerate().all(|(at, one)| !short[..at].contains(one));
    let policy = without_policy.then_some(first.policy);
    let common: Vec<String> =
        policy.into_iter().chain(parameters).chain(changes).map(str::to_owned).collect();
    (differ && !common.is_empty()).then_some(Short { labels: short, common })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(labels: &[&str]) -> Option<(Vec<String>, String)> {
        let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
        short(&labels).map(|short| (short.labels, short.common.join("; ")))
    }

    #[test]
    fn labels_leave_out_what_all_variants_have_in_common() {
        for (labels, wanted, common) in [
            (&["dt(alpha=0.5)", "dt(alpha=2)"][..], &["alpha=0.5", "alpha=2"][..], "dt"),
            (&["dt(alpha=1, unit=2)", "dt(alpha=2, unit=2)"], &["alpha=1", "alpha=2"], "dt; unit=2"),
            (&["dt + buffer=1 MB", "abm + buffer=1 MB"], &["dt", "abm"], "buffer=1 MB"),
            (&["dt + buffer=1 MB", "dt + buffer=1 MB + drain=1 s"], &["dt", "dt + drain=1 s"], "buffer=1 MB"),
            (&["dt + buffer=1 MB", "dt + buffer=2 MB"], &["buffer=1 MB", "buffer=2 MB"], "dt"),
        ] {
            assert_eq!(
                shortened(labels),
                Some((wanted.iter().map(ToString::to_string).collect(), common.into()))
            );
        }
    }

    #[test]
    fn labels_that_share_nothing_or_would_be_empty_stay_whole() {
        for labels in [
            &["dt", "abm"][..],
            &["dt", "dt(alpha=2)"],
            &["dt(alpha=1)"],
            &["shallow", "dt + buffer=1 MB"],
            &["x(\"a + b\")", "y(\"a + b\", c=1)"][..1],
            &[],
        ] {
            assert_eq!(shortened(labels), None, "{labels:?}");
        }
    }
}
