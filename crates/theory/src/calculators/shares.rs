//! Calculator for the buffer share of an alpha, and for the alpha of a share.

use super::input::{self, ALPHA, SIZE, count, param};
use super::{CalculatorInfo, Derivation, Table, bytes, number};
use crate::forms::Domain;
use crate::forms::dynamic_threshold::{CongestedQueues, alpha_for_share, share_alone, steady_threshold};
use bufferlab_params::{ParamKind, ParamValue, Params};
use std::borrow::Cow;

/// The calculator gives the answer `share` for an alpha and `alpha` for a share,
/// with a table of the alphas that switches support.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "shares",
    aliases: &[],
    title: "Alpha and share of the buffer",
    summary: "Convert an alpha into its share of the buffer, and a share into its alpha.",
    source: "ABM Eq. 6, for every alpha that switches support.",
    params: &[
        param("buffer", SIZE, ParamValue::Optional, "Shared buffer, to print sizes instead of percentages."),
        param(
            "queues",
            ParamKind::List(&count(1)),
            ParamValue::List(Cow::Borrowed(&[
                ParamValue::Count(1),
                ParamValue::Count(2),
                ParamValue::Count(4),
                ParamValue::Count(8),
                ParamValue::Count(32),
            ])),
            "Numbers of equal congested queues.",
        ),
        param("alpha", ALPHA, ParamValue::Optional, "Convert this alpha into a share."),
        param(
            "share",
            ParamKind::RatioAbove { min: 0.0, max: 1.0 },
            ParamValue::Optional,
            "Convert this share of the buffer (0 to 1) into an alpha.",
        ),
    ],
    rules: &[],
    examples: &[&[("buffer", "16 MB"), ("queues", "1,8"), ("alpha", "0.125"), ("share", "0.25")]],
    run,
};

fn run(params: &Params) -> Domain<Derivation> {
    let buffer = input::given_size(params, "buffer");
    let mut derivation = Derivation::new("Alpha and share of the buffer");
    if let Some(buffer) = buffer {
        derivation.step("buffer", "", "", bytes(buffer), "");
    }
    derivation.table = Some(table(&params.counts("queues"), buffer)?);
    if let Some(alpha) = params.given_ratio("alpha") {
        let share = share_alone(alpha)?;
        let numbers = format!("{} / (1 + {})", number(alpha), number(alpha));
        let (name, formula) = ("share of a queue alone", "alpha / (1 + alpha)");
        derivation.step(name, formula, numbers, cell(share, None), "ABM Eq. 6, n = 1");
        derivation.answer("share", share, cell(share, buffer));
    }
    if let Some(share) = params.given_ratio("share") {
        let alpha = alpha_for_share(share)?;
        let numbers = format!("{} / (1 - {})", number(share), number(share));
        let (name, formula) = ("alpha of a queue alone", "share / (1 - share)");
        derivation.step(name, formula, numbers, number(alpha), "ABM Eq. 6 solved for alpha");
        derivation.answer("alpha", alpha, number(alpha));
    }
    derivation.note("n equal congested queues get alpha / (1 + n alpha) each; 1 / (1 + n alpha) stays free");
    Ok(derivation)
}

/// Table with the share of each of `queues` equal queues for the alphas 2^-8 to 2^8.
fn table(queues: &[u64], buffer_bytes: Option<f64>) -> Domain<Table> {
    let heads: Vec<String> = queues.iter().map(|n| format!("each of {n}")).collect();
    let mut columns = vec!["dynamic_th", "alpha"];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(&columns);
    for power in -8..=8 {
        let alpha = f64::from(power).exp2();
        let mut row = vec![power.to_string(), number(alpha)];
        for &count in queues {
            let count = u32::try_from(count).expect("the parameter's range fits 32 bits");
            let share = steady_threshold(1.0, alpha, &[CongestedQueues { count, alpha }])?;
            row.push(cell(share, buffer_bytes));
        }
        table.rows.push(row);
    }
    Ok(table)
}

fn cell(share: f64, buffer_bytes: Option<f64>) -> String {
    match buffer_bytes {
        Some(buffer) => bytes(share * buffer),
        None => format!("{} %", number(share * 100.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculators::CalculatorError;
    use crate::calculators::input::given;

    #[test]
    fn a_dynamic_th_of_3_gives_eight_ninths_and_shares_convert_back() -> Result<(), CalculatorError> {
        let queues = ParamValue::List(vec![ParamValue::Count(1), ParamValue::Count(4)].into());
        let asked = [
            ("queues", queues),
            ("alpha", ParamValue::Ratio(8.0)),
            ("share", ParamValue::Ratio(0.5)),
            ("buffer", ParamValue::Bytes(18_000_000)),
        ];
        let found = INFO.calculate(&given(&asked[..3]))?;
        let table = found.table.as_ref().expect("a table");
        assert_eq!(table.rows.len(), 17);
        assert_eq!(table.rows[11], ["3", "8", "88.89 %", "24.24 %"]);
        assert_eq!((found.value("share"), found.value("alpha")), (Some(8.0 / 9.0), Some(1.0)));
        let sized = INFO.calculate(&given(&asked))?;
        assert_eq!(sized.table.expect("a table").rows[11][2], "16 MB");
        Ok(())
    }

    #[test]
    fn no_alpha_takes_the_whole_buffer_and_no_queue_has_no_share() {
        let refused =
            |name, value| INFO.calculate(&given(&[(name, value)])).expect_err("no answer").to_string();
        let none = ParamValue::List(vec![ParamValue::Count(0)].into());
        assert_eq!(refused("queues", none), "queues is 0, expected a whole number of at least 1");
        let all = refused("share", ParamValue::Ratio(1.0));
        assert_eq!(all, "share is 1, expected more than 0, less than 1 (no alpha takes the whole buffer)");
    }
}
