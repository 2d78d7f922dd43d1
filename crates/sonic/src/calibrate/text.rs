//! Formats the estimates of a calibration as text.

use super::{Calibration, Interval, ProfileEstimate};
use std::fmt::Write as _;

/// Formats the estimates of a calibration as text for people.
#[must_use]
pub fn text(found: &Calibration) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let cell = match found.cell_divides {
        0 => "no watermarks".to_owned(),
        bytes => format!("all watermarks are multiples of {bytes} B; the chip has cells of {} B", found.cell),
    };
    let _ = writeln!(text, "cell: {cell}");
    for (pool, most) in &found.pools {
        let _ = writeln!(text, "{pool}: at least {most} B");
    }
    for one in &found.profiles {
        let _ = writeln!(text, "\n{} in {}, {} readings at the limit", one.profile, one.pool, one.readings);
        if one.readings > 0 {
            profile(&mut text, one);
        }
    }
    if found.departures.is_empty() {
        let _ = writeln!(text, "\nno configured value is excluded by the readings");
    } else {
        let _ = writeln!(text, "\nthe switch does not follow:");
    }
    for departure in &found.departures {
        let _ = writeln!(text, "  {departure}");
    }
    for caveat in &found.caveats {
        let _ = writeln!(text, "note: {caveat}");
    }
    text
}

fn profile(text: &mut String, one: &ProfileEstimate) {
    let own = one.configured.map_or("a static limit".to_owned(), |exponent| format!("dynamic_th {exponent}"));
    let best = one.best.map_or("no exponent fits".to_owned(), |best| format!("dynamic_th {best}"));
    let _ = writeln!(text, "  alpha {}: {best}; configured: {own}", between(&one.alpha, 4));
    if one.configured.is_some() {
        let _ = writeln!(
            text,
            "  shared memory {} B if alpha is as configured; from the files: {} B",
            between(&one.shared, 0),
            one.configured_shared
        );
    }
    if let Some(reserve) = &one.reserve {
        let _ =
            writeln!(text, "  reserve {} B; configured: {} B", between(reserve, 0), one.configured_reserve);
    }
}

fn between(interval: &Interval, digits: usize) -> String {
    match interval.most {
        Some(most) => format!("{:.digits$} to {most:.digits$}", interval.least),
        None => format!("{:.digits$} or more", interval.least),
    }
}
