//! How is a table of flow sizes written as text?

use super::{Place, SizeError};

/// The points of a table, and for each the line where it stands.
type PlacedPoints = (Vec<(f64, f64)>, Vec<Place>);

/// The points of `text`.
pub(super) fn parse(name: &str, text: &str) -> Result<PlacedPoints, SizeError> {
    let (mut points, mut places) = (Vec::new(), Vec::new());
    let mut may_be_header = true;
    // Some editors begin a text with a byte order mark.
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let fields: Vec<_> = content.split(',').map(|field| field.trim().parse::<f64>().ok()).collect();
        let place = Place::Line(index + 1);
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
    Ok((points, places))
}
