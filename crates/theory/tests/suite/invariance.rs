//! What no answer may depend on: the order in which equal things are given, and into how many groups they are written.

use crate::support::{assert_ratio, between, some_alpha, some_count, some_queues};
use bufferlab_params::{ParamKind, ParamValue, Params, Profile};
use bufferlab_theory::calculators::{CALCULATORS, CalculatorInfo};
use bufferlab_theory::forms::DomainError;
use bufferlab_theory::forms::transient::{
    NewQueues, OldQueues, Touch, case_1_limit, first_touch, t1_case_1, t1_case_2,
};
use bufferlab_units::RandomStream;

const STATES: u32 = 20_000;

/// Cuts some groups in two and puts all in another order.
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

/// Old queues of few kinds, so that many come down to their thresholds at one instant.
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
    // The cases that matter are among them.
    assert!(rejoined > STATES / 100 && lagging > STATES / 10, "{rejoined} {lagging}");
    Ok(())
}

/// A value within the domain of a parameter; `None`: its default.
fn some_list(kind: &ParamKind, stream: &mut RandomStream) -> Option<Vec<ParamValue>> {
    let ParamKind::List(_) = kind else { return None };
    let count = some_count(stream, 2, 6);
    Some((0..count).map(|_| ParamValue::Ratio(some_alpha(stream))).collect())
}

/// The answers and the cells of the table, sorted: a row per priority may change its place with it.
fn answers(info: &CalculatorInfo, name: &str, list: &[ParamValue]) -> Vec<String> {
    let given = [(name.to_owned(), ParamValue::List(list.to_vec().into()))];
    let derivation = match info.calculate(&given) {
        Ok(derivation) => derivation,
        Err(error) => return vec![error.to_string()],
    };
    let mut found: Vec<String> =
        derivation.answers.iter().map(|answer| format!("{:.9e}", answer.value)).collect();
    for row in derivation.table.iter().flat_map(|table| &table.rows) {
        // The first column numbers the rows.
        found.push(row[1..].join(" "));
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
    // Defaults are complete: a calculator whose list is left out has one.
    for info in CALCULATORS.all() {
        if info.rules.is_empty() {
            Params::resolve(info.params, Profile::Paper, &[]).expect(info.name);
        }
    }
}
