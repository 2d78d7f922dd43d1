//! Formats test vectors as a table.

use super::{Point, Vectors};
use std::fmt::Write as _;

fn shown(point: Point) -> String {
    let simulated = point.simulated.map_or("-".to_owned(), |simulated| simulated.to_string());
    format!("{:>9} {simulated:>9}", point.formula)
}

/// Formats the test vectors as text. The numbers by the rules of the chip are beside the numbers of
/// the simulated switch.
#[must_use]
pub fn text(vectors: &Vectors) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "{}: packets of {} B, cells of {} B; groups and queues of one slice of {}",
        vectors.title, vectors.packet_bytes, vectors.cell_bytes, vectors.slices
    );
    for group in &vectors.groups {
        let groups: Vec<_> =
            group.groups.iter().map(|(group, dscp)| format!("{group} (DSCP {dscp})")).collect();
        let _ = writeln!(
            text,
            "\n{}: from {} to the blocked {}, group {}\n{:<34} {:>9} {:>9}",
            group.profile,
            group.ports[0],
            group.ports[1],
            groups.join(" or "),
            "",
            "rules",
            "simulated"
        );
        for (name, point) in [
            ("pauses with", group.pause),
            ("loses packet", group.loss),
            ("resumes below the pause point by", group.resume),
        ] {
            let _ = writeln!(text, "  {name:<32} {}", shown(point));
        }
        for together in &group.together {
            let name = format!("each of {} that fill in turn", together.groups);
            let _ = writeln!(text, "  {name:<32} {}", shown(together.pause));
        }
        for (number, point) in group.sequence.iter().enumerate().skip(1) {
            let name = format!("group {} after the others", number + 1);
            let _ = writeln!(text, "  {name:<32} {}", shown(*point));
        }
        if let Some(pool) = &group.pool {
            let _ = writeln!(
                text,
                "  headroom pool                    {}  ({} groups: {} each, the last {})",
                shown(pool.sum),
                pool.groups,
                pool.full,
                pool.partial
            );
        }
    }
    for queue in &vectors.queues {
        let _ = writeln!(
            text,
            "\n{}: lossy queue {} (DSCP {})\n  {:<32} {}",
            queue.profile,
            queue.queue.0,
            queue.queue.1,
            "loses packet",
            shown(queue.loss)
        );
    }
    for gap in &vectors.not_predicted {
        let _ = writeln!(text, "\nnot predicted: {gap}");
    }
    for caveat in &vectors.caveats {
        let _ = writeln!(text, "\ncaveat: {caveat}");
    }
    text
}
