//! Findings of an experiment: sentences about the verdicts on a paper's statements.

use crate::{Judged, Standing};
use bufferlab_report::{Sentence, SentenceKind};

/// Largest number of statements that a finding quotes in full; a finding only counts the other
/// statements.
const QUOTED: usize = 3;

/// Describes how many statements hold, fail or are undecided in an experiment's runs. The result is
/// empty if no statement was judged.
pub(super) fn findings(verdicts: &[Judged], statement: &impl Fn(&str) -> Option<String>) -> Vec<Sentence> {
    let of = |wanted: Standing| -> Vec<&Judged> {
        verdicts.iter().filter(|judged| judged.verdict.standing() == wanted).collect()
    };
    let (borne_out, against) = (of(Standing::Holds), of(Standing::Against));
    let undecided = of(Standing::Open);
    let judged = borne_out.len() + against.len() + undecided.len();
    if judged == 0 {
        return Vec::new();
    }
    let claim = |text| Sentence { kind: SentenceKind::Difference, text };
    let open = |text| Sentence { kind: SentenceKind::Open, text };
    let mut list = vec![claim(match (borne_out.len(), judged) {
        (1, 1) => "The statement holds in these runs.".to_owned(),
        (0, 1) => "The statement does not hold in these runs, or is undecided.".to_owned(),
        (all, judged) if all == judged => format!("All {judged} statements hold in these runs."),
        (some, _) => format!("{some} of {judged} statements hold in these runs."),
    })];
    for one in against.iter().take(QUOTED) {
        let quoted = statement(&one.id).map_or_else(String::new, |text| format!(" \"{text}\""));
        list.push(claim(format!("{}: {}{quoted}: here {}.", one.verdict, one.id, one.measured())));
    }
    if against.len() > QUOTED {
        list.push(open(format!("{} more do not hold; the table has them.", against.len() - QUOTED)));
    }
    if !undecided.is_empty() {
        let names: Vec<&str> = undecided.iter().map(|one| one.id.as_str()).collect();
        list.push(open(format!("Undecided with these seeds: {}.", names.join(", "))));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    #[test]
    fn the_sentences_count_what_holds_and_quote_what_does_not() {
        let judged = |id: &str, verdict| Judged {
            id: id.to_owned(),
            verdict,
            conditions: Vec::new(),
            beside: vec!["1.02 ± 0.11".to_owned()],
            note: None,
        };
        let all = [
            judged("A-1", Verdict::Pass),
            judged("A-2", Verdict::Strong),
            judged("A-3", Verdict::Null),
            judged("A-4", Verdict::Inconclusive),
            judged("A-5", Verdict::NotRun),
        ];
        let statement = |id: &str| (id == "A-3").then(|| "up to 1.66x".to_owned());
        let told: Vec<String> = findings(&all, &statement).into_iter().map(|one| one.text).collect();
        assert_eq!(
            told,
            [
                "2 of 4 statements hold in these runs.",
                "NULL: A-3 \"up to 1.66x\": here 1.02 ± 0.11.",
                "Undecided with these seeds: A-4.",
            ]
        );
        assert_eq!(findings(&all[..2], &statement)[0].text, "All 2 statements hold in these runs.");
        assert!(findings(&all[4..], &statement).is_empty(), "nothing was judged");
    }
}
