//! Which share of the buffer an alpha gives, and which alpha gives a share.

use super::{Derivation, Table, bytes, number};
use crate::forms::dynamic_threshold::{CongestedQueues, alpha_for_share, share_alone, steady_threshold};
use crate::forms::{Domain, check, positive};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Shared buffer, if sizes are wanted (bytes).
    pub buffer_bytes: Option<f64>,
    /// Numbers of equal congested queues, a column each.
    pub queues: Vec<u32>,
    /// An alpha to convert.
    pub alpha: Option<f64>,
    /// A share of the buffer to convert, for a queue that is alone.
    pub share: Option<f64>,
}

/// A table of the factors that switches can be set to, 2^-8 to 2^8, and the conversions asked for (answers `share`, `alpha`).
///
/// # Errors
/// A buffer or alpha not positive, a share not between 0 and 1, a number of queues of 0.
pub fn shares(asked: &Shares) -> Domain<Derivation> {
    let mut derivation = Derivation::new("Alpha and share of the buffer");
    if let Some(buffer) = asked.buffer_bytes {
        positive("buffer", buffer)?;
        derivation.step("buffer", "", "", bytes(buffer), "");
    }
    let heads: Vec<String> = asked.queues.iter().map(|n| format!("each of {n}")).collect();
    let mut columns = vec!["dynamic_th", "alpha"];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(&columns);
    for &queues in &asked.queues {
        check(queues >= 1, "queues", f64::from(queues), "1 or more")?;
    }
    for power in -8..=8 {
        let alpha = f64::from(power).exp2();
        let mut row = vec![power.to_string(), number(alpha)];
        for &count in &asked.queues {
            let share = steady_threshold(1.0, alpha, &[CongestedQueues { count, alpha }])?;
            row.push(cell(share, asked.buffer_bytes));
        }
        table.rows.push(row);
    }
    derivation.table = Some(table);
    if let Some(alpha) = asked.alpha {
        let share = share_alone(alpha)?;
        let numbers = format!("{} / (1 + {})", number(alpha), number(alpha));
        derivation.step(
            "share of a queue alone",
            "alpha / (1 + alpha)",
            numbers,
            cell(share, None),
            "ABM Eq. 6, n = 1",
        );
        derivation.answer("share", share, cell(share, asked.buffer_bytes));
    }
    if let Some(share) = asked.share {
        let alpha = alpha_for_share(share)?;
        let numbers = format!("{} / (1 - {})", number(share), number(share));
        derivation.step(
            "alpha of a queue alone",
            "share / (1 - share)",
            numbers,
            number(alpha),
            "ABM Eq. 6 solved for alpha",
        );
        derivation.answer("alpha", alpha, number(alpha));
    }
    derivation.note("n equal congested queues get alpha / (1 + n alpha) each; 1 / (1 + n alpha) stays free");
    Ok(derivation)
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

    #[test]
    fn a_dynamic_th_of_3_gives_eight_ninths_and_shares_convert_back() -> Domain<()> {
        let asked = Shares { buffer_bytes: None, queues: vec![1, 4], alpha: Some(8.0), share: Some(0.5) };
        let found = shares(&asked)?;
        let table = found.table.as_ref().expect("a table");
        assert_eq!(table.rows.len(), 17);
        assert_eq!(table.rows[11], ["3", "8", "88.89 %", "24.24 %"]);
        assert_eq!((found.value("share"), found.value("alpha")), (Some(8.0 / 9.0), Some(1.0)));
        let sized = shares(&Shares { buffer_bytes: Some(18e6), ..asked.clone() })?;
        assert_eq!(sized.table.expect("a table").rows[11][2], "16 MB");
        assert_eq!(shares(&Shares { share: Some(1.0), ..asked.clone() }).expect_err("all").input, "share");
        assert_eq!(shares(&Shares { queues: vec![0], ..asked }).expect_err("none").input, "queues");
        Ok(())
    }
}
