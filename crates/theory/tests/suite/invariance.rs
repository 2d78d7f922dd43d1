//! Tests that answers depend neither on the order of equal inputs, nor on the number of groups that
//! describe the inputs.

use bufferlab_params::{ParamKind, ParamValue, Params, Profile};
use bufferlab_theory::calculators::{CALCULATORS, CalculatorInfo, Derivation};
use bufferlab_theory::forms::DomainError;
use bufferlab_theory::forms::transient::{
    NewQueues, OldQueues, Touch, case_1_limit, first_touch, t1_case_1, t1_case_2,
};
use bufferlab_theory::statements::support::{assert_ratio, between, some_alpha, some_count, some_queues};
use bufferlab_units::{BitRate, RandomStream};

const STATES: u32 = 20_000;

/// Splits some groups of equal queues in two and shuffles all groups.
fn rewritten(old: &[OldQueues], stream: &mut RandomStream) -> Vec<OldQueues> {
    let mut parts = Vec::new();
    for queue in old {
        let first = some_count(stream, 0, queue.count);
        parts.push(OldQueues { count: first, ..*queue });
        parts.push(OldQueues { count: queue.count - first, ..*queue });
    }
    for last in (1..parts.len()).rev() {
        parts.swap(last, stream.below(last as u64 + 1) as usize);
    }
    parts
}

/// Draws old queues of few kinds, so that many queues reach their thresholds at one instant.
fn few_kinds(stream: &mut RandomStream) -> Vec<OldQueues> {
    let affected = stream.below(3) > 0;
    let mut queues = some_queues(stream, affected);
    if stream.below(2) == 0 {
        let first = queues[0];
        queues.iter_mut().for_each(|queue| *queue = OldQueues { count: queue.count, ..first });
    }
    queues
}

fn some_burst(stream: &mut RandomStream) -> NewQueues {
    let drain_rate = between(stream, 0.1, 1.0);
    NewQueues {
        count: some_count(stream, 1, 3),
        omega: if stream.below(8) == 0 { f64::INFINITY } else { some_alpha(stream) },
        arrival_rate: drain_rate + between(stream, -2.0, 5.0).exp2(),
        drain_rate,
    }
}

#[track_caller]
fn assert_same(found: f64, expected: f64) {
    if found == expected {
        return;
    }
    assert_ratio(found, expected, 1e-9);
}

#[test]
fn the_transient_depends_on_the_queues_and_not_on_how_they_are_grouped() -> Result<(), DomainError> {
    let mut stream = RandomStream::new(1, "grouping", 0);
    let (mut rejoined, mut lagging) = (0, 0);
    for _ in 0..STATES {
        let (old, new) = (few_kinds(&mut stream), some_burst(&mut stream));
        let other = rewritten(&old, &mut stream);
        let (expected, found) = (first_touch(1e6, &old, &new)?, first_touch(1e6, &other, &new)?);
        let scalars = |touch: &Touch| [touch.time, touch.stored, touch.arrived];
        for (found, expected) in scalars(&found).into_iter().zip(scalars(&expected)) {
            assert_same(found, expected);
        }
        let counts = |touch: &Touch| (touch.regime, touch.lagging, touch.rejoined);
        assert_eq!(counts(&found), counts(&expected), "{old:?}");
        assert_same(case_1_limit(&other, &new)?, case_1_limit(&old, &new)?);
        assert_same(t1_case_1(1e6, &other, &new)?, t1_case_1(1e6, &old, &new)?);
        assert_same(t1_case_2(1e6, &other, &new)?, t1_case_2(1e6, &old, &new)?);
        rejoined += u32::from(found.rejoined > 1);
        lagging += u32::from(found.lagging > 0);
    }
    // The random states include the cases of lagging and of rejoining queues.
    assert!(rejoined > STATES / 100 && lagging > STATES / 10, "{rejoined} {lagging}");
    Ok(())
}

/// Draws a list within the domain of a parameter. `None` if the parameter is not a list.
fn some_list(kind: &ParamKind, stream: &mut RandomStream) -> Option<Vec<ParamValue>> {
    let ParamKind::List(element) = kind else { return None };
    let some = |stream: &mut RandomStream| match element {
        ParamKind::Count { .. } => ParamValue::Count(some_count(stream, 1, 40).into()),
        ParamKind::Ratio { .. } | ParamKind::RatioAbove { .. } => ParamValue::Ratio(some_alpha(stream)),
        other => panic!("lists of {other:?} need a value here"),
    };
    let count = some_count(stream, 2, 6);
    Some((0..count).map(|_| some(stream)).collect())
}

/// Required parameters of a calculator, except the list parameter whose order the test changes.
fn beside(info: &CalculatorInfo) -> Vec<(String, ParamValue)> {
    match info.name {
        "alpha" => vec![
            ("rate".to_owned(), ParamValue::Rate(BitRate::gbps(50))),
            ("burst".to_owned(), ParamValue::Bytes(1_000_000)),
        ],
        _ => Vec::new(),
    }
}

/// A way to write a list as more groups of equal meaning, and the answers that must not change.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Grouping {
    /// An element of the list is a sum, so splitting the element changes no answer.
    Sum,
    /// The first element's answers depend on the sum of the other elements.
    /// So splitting another element changes no answer of the first element.
    SumOfOthers,
    /// The first element's answers depend on the smallest of the other elements.
    /// So repeating another element changes no answer of the first element.
    SmallestOfOthers,
    /// The list's elements are independent, so repeating an element repeats its column of the
    /// table.
    Columns,
}

/// Every list parameter of a calculator, with its grouping.
const GROUPINGS: [(&str, &str, Grouping); 4] = [
    ("alpha", "others", Grouping::Sum),
    ("shares", "queues", Grouping::Columns),
    ("guarantees", "alphas", Grouping::SumOfOthers),
    ("drain-time", "alphas", Grouping::SmallestOfOthers),
];

/// Divides a list of alphas or queues into more groups.
fn regrouped(list: &[ParamValue], grouping: Grouping) -> Vec<ParamValue> {
    let (last, rest) = list.split_last().expect("not empty");
    let mut other = rest.to_vec();
    match (grouping, last) {
        (Grouping::Sum | Grouping::SumOfOthers, ParamValue::Ratio(whole)) => {
            other.extend([0.25, 0.75].map(|part| ParamValue::Ratio(part * whole)));
        }
        _ => other.extend([last.clone(), last.clone()]),
    }
    other
}

fn derive(info: &CalculatorInfo, name: &str, list: &[ParamValue]) -> Derivation {
    let mut given = beside(info);
    given.push((name.to_owned(), ParamValue::List(list.to_vec().into())));
    info.calculate(&given).unwrap_or_else(|error| panic!("{} {given:?}: {error}", info.name))
}

/// Values of the answer that must be equal for any number of groups.
fn kept(found: &Derivation, grouping: Grouping) -> Vec<f64> {
    let first = |name: &str| grouping == Grouping::Sum || name.ends_with(" 0");
    found.answers.iter().filter(|answer| first(&answer.name)).map(|answer| answer.value).collect()
}

#[test]
fn every_list_of_a_calculator_has_a_grouping() {
    let mut lists = Vec::new();
    for info in CALCULATORS.built_in() {
        let of = info.params.iter().filter(|param| matches!(param.kind, ParamKind::List(_)));
        lists.extend(of.map(|param| (info.name, param.name)));
    }
    assert_eq!(lists, GROUPINGS.map(|(calculator, param, _)| (calculator, param)));
}

#[test]
fn no_calculator_depends_on_how_many_groups_its_lists_are_written_in() {
    let mut stream = RandomStream::new(3, "merging", 0);
    for (calculator, param, grouping) in GROUPINGS {
        let info = CALCULATORS.find(calculator).expect("it is built in");
        let kind = info.param(param).expect("it has the list").kind;
        for _ in 0..200 {
            let list = some_list(&kind, &mut stream).expect("a list");
            let other = regrouped(&list, grouping);
            let (one, two) = (derive(info, param, &list), derive(info, param, &other));
            if grouping == Grouping::Columns {
                let (one, two) = (one.table.expect("a table"), two.table.expect("a table"));
                let columns = list.len() + 2;
                for (one, two) in one.rows.iter().zip(&two.rows) {
                    assert_eq!((&one[..], &one[columns - 1]), (&two[..columns], &two[columns]), "{list:?}");
                }
                continue;
            }
            let (one, two) = (kept(&one, grouping), kept(&two, grouping));
            assert!(!one.is_empty() && one.len() == two.len(), "{calculator}");
            for (one, two) in one.into_iter().zip(two) {
                assert_same(two, one);
            }
        }
    }
}

/// Answers and cells of the table, sorted, because the row of a priority may change its position.
fn answers(info: &CalculatorInfo, name: &str, list: &[ParamValue]) -> Vec<String> {
    let derivation = derive(info, name, list);
    let mut found: Vec<String> =
        derivation.answers.iter().map(|answer| format!("{:.9e}", answer.value)).collect();
    for row in derivation.table.iter().flat_map(|table| &table.rows) {
        // The first column numbers the rows. Columns of a list change position with their element.
        let mut cells = row[1..].to_vec();
        cells.sort_unstable();
        found.push(cells.join(" "));
    }
    found.sort_unstable();
    found
}

#[test]
fn no_calculator_depends_on_the_order_of_a_list() {
    let mut stream = RandomStream::new(2, "order", 0);
    let mut lists = 0;
    for info in CALCULATORS.all() {
        for param in info.params {
            if some_list(&param.kind, &mut stream).is_none() {
                continue;
            }
            lists += 1;
            for _ in 0..200 {
                let list = some_list(&param.kind, &mut stream).expect("a list, as before");
                let mut other = list.clone();
                other.rotate_left(1);
                other.swap(0, list.len() - 1);
                assert_eq!(
                    answers(info, param.name, &other),
                    answers(info, param.name, &list),
                    "{}: {} = {list:?}",
                    info.name,
                    param.name
                );
            }
        }
    }
    assert!(lists >= 2, "{lists} lists");
    // Defaults are complete: without rules, all parameters resolve without a given value.
    for info in CALCULATORS.all() {
        if info.rules.is_empty() {
            Params::resolve(info.params, Profile::Paper, &[]).expect(info.name);
        }
    }
}
