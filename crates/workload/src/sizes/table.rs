//! Text format of a table of flow sizes.
//!
//! Each line is `bytes,cumulative`, or has blanks between the two numbers. The cumulative
//! probability may be in per cent, as in the files of ns-3's and HPCC's traffic generators. The
//! last probability is then 100.

use super::{SizeError, SizePlace};

/// Points of a table of flow sizes, and the line of each point.
type PlacedPoints = (Vec<(f64, f64)>, Vec<SizePlace>);

/// Reads the points of a table of flow sizes.
pub(super) fn parse(name: &str, text: &str) -> Result<PlacedPoints, SizeError> {
    let (mut points, mut places) = (Vec::new(), Vec::new());
    let mut may_be_header = true;
    // Some editors put a byte order mark at the start of a text.
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let number = |field: &str| field.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
        let fields: Vec<_> = match content.contains(',') {
            true => content.split(',').map(number).collect(),
            false => content.split_whitespace().map(number).collect(),
        };
        let place = SizePlace::Line(index + 1);
        match fields[..] {
            [Some(bytes), Some(cumulative)] => {
                points.push((bytes, cumulative));
                places.push(place);
            }
            _ if may_be_header && fields.iter().all(Option::is_none) && content.contains(',') => {}
            _ => return Err(SizeError::NotAPair { name: name.to_owned(), place, text: content.to_owned() }),
        }
        may_be_header = false;
    }
    // In a table of percentages the last probability is 100, so 100 means a probability of 1.
    if points.last().is_some_and(|point: &(f64, f64)| point.1 == 100.0) {
        points.iter_mut().for_each(|point| point.1 /= 100.0);
    }
    Ok((points, places))
}
