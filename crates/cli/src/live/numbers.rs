//! Formats numbers for the live view: short, with a stable width.

/// Text of `bytes` bytes with a decimal prefix: `95.4 KB`.
#[must_use]
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// Text of a rate or a count in at most five characters: `94.1M`.
pub(crate) fn short(value: f64) -> String {
    let (scaled, prefix) = match value {
        v if v < 999.5 => (v, ""),
        v if v < 999.5e3 => (v / 1e3, "k"),
        v if v < 999.5e6 => (v / 1e6, "M"),
        v => (v / 1e9, "G"),
    };
    match scaled {
        v if prefix.is_empty() => format!("{v:.0}"),
        v if v < 9.995 => format!("{v:.2}{prefix}"),
        v if v < 99.95 => format!("{v:.1}{prefix}"),
        v => format!("{v:.0}{prefix}"),
    }
}

/// Text of a span of `ns` nanoseconds in a suitable unit: `61 us`.
#[must_use]
pub(crate) fn span(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.0} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// Text of a time in hours, minutes and seconds.
pub(crate) fn clock(seconds: u64) -> String {
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_at_every_size() {
        for (value, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (1_234.0, "1.23k"),
            (94_123_000.0, "94.1M"),
            (999_600_000.0, "1.00G"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!([bytes(999), bytes(12_345), bytes(1_250_000)], ["999 B", "12.3 KB", "1.25 MB"]);
        assert_eq!([span(999), span(61_000), span(1_300_000)], ["999 ns", "61 us", "1.3 ms"]);
        assert_eq!(clock(3_725), "1:02:05");
    }
}
