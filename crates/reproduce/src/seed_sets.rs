//! Repeats verdicts with other sets of seeds: a statement passes only if it passes with every set.

use crate::{Judged, Results, Verdict, judge};

/// Distance between the first seeds of two sets of seeds; no experiment has more seeds than this
/// distance.
pub const SEED_SET: u32 = 1000;

/// A statement's verdicts with several sets of seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survival {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Verdicts on the statement, one per set of seeds; the first set has the experiment's own
    /// seeds.
    pub verdicts: Vec<Verdict>,
}

impl Survival {
    /// Whether two sets of seeds disagree on the statement, for example if it holds with one set
    /// and fails with another. The verdicts PASS and STRONG do not disagree.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.verdicts.windows(2).any(|pair| pair[0].standing() != pair[1].standing())
    }

    /// Whether the statement passes with the first set of seeds and fails with a different set.
    #[must_use]
    pub fn turns(&self) -> bool {
        self.verdicts.first().is_some_and(|first| first.holds()) && self.verdicts.contains(&Verdict::Fail)
    }
}

/// Judges the statements of one experiment with other sets of seeds. A statement that holds only
/// with the first set becomes INCONCLUSIVE, and its remark has the other verdicts.
#[must_use]
pub(crate) fn survive(judged: Vec<Judged>, others: &[&Results]) -> (Vec<Judged>, Vec<Survival>) {
    let mut survivals = Vec::new();
    let mut all = Vec::new();
    for first in judged {
        let mut verdicts = vec![first.verdict];
        for results in others {
            let claims = results.experiment().claims();
            verdicts.extend(
                claims.iter().filter(|claim| claim.id == first.id).map(|claim| judge(claim, results).verdict),
            );
        }
        let survival = Survival { id: first.id.clone(), verdicts };
        all.push(with_other_seeds(first, &survival));
        survivals.push(survival);
    }
    (all, survivals)
}

/// Returns the verdict after the verdicts with other sets of seeds are taken into account.
fn with_other_seeds(mut judged: Judged, survival: &Survival) -> Judged {
    let others = &survival.verdicts[1..];
    if others.is_empty() {
        return judged;
    }
    let names: Vec<_> = others.iter().map(ToString::to_string).collect();
    let told = format!("With other seeds: {}.", names.join(", "));
    if judged.verdict.holds() && others.iter().any(|verdict| !verdict.holds()) {
        judged.verdict = Verdict::Inconclusive;
    }
    judged.note = Some(judged.note.map_or(told.clone(), |note| format!("{note} {told}")));
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(verdict: Verdict) -> Judged {
        let (id, note) = ("A-1".to_owned(), Some("Of two.".to_owned()));
        Judged { id, verdict, conditions: Vec::new(), beside: Vec::new(), note }
    }

    fn survival(verdicts: &[Verdict]) -> Survival {
        Survival { id: "A-1".to_owned(), verdicts: verdicts.to_vec() }
    }

    #[test]
    fn a_pass_must_survive_every_set_of_seeds() {
        let lucky = survival(&[Verdict::Pass, Verdict::Strong, Verdict::Partial]);
        let judged_again = with_other_seeds(judged(Verdict::Pass), &lucky);
        assert_eq!(judged_again.verdict, Verdict::Inconclusive);
        assert_eq!(judged_again.note.as_deref(), Some("Of two. With other seeds: STRONG, PARTIAL."));
        assert!(lucky.changes() && !lucky.turns());
        let firm = survival(&[Verdict::Pass, Verdict::Strong, Verdict::Pass]);
        assert_eq!(with_other_seeds(judged(Verdict::Pass), &firm).verdict, Verdict::Pass);
        assert!(!firm.changes());
        // Other seeds cannot turn a failed statement into a statement that holds.
        let late = survival(&[Verdict::Partial, Verdict::Pass, Verdict::Pass]);
        assert_eq!(with_other_seeds(judged(Verdict::Partial), &late).verdict, Verdict::Partial);
        assert!(late.changes() && !late.turns());
        assert!(survival(&[Verdict::Strong, Verdict::Fail]).turns());
    }
}
