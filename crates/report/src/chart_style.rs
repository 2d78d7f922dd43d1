//! Colours of pages and rules of charts, as data. Pages use CSS variables. A chart in a separate
//! file contains the colours themselves.

/// Number of styles for the series of a chart in the style sheet.
pub(crate) const STYLES: usize = 8;

/// Purpose of a chart in a separate file: a screen or a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureStyle {
    /// Style for screens: light colours, caption above the chart, 640 pixels wide.
    Screen,
    /// Style for a column of a two-column paper: 240 points wide, text of 7.2 points, no caption.
    /// Without colour, dashes, markers and two greys distinguish the series.
    Paper,
}

/// A colour with the name of its CSS variable: variants for light pages, dark pages and paper.
struct Colour {
    name: &'static str,
    light: &'static str,
    dark: &'static str,
    paper: &'static str,
}

const fn colour(name: &'static str, [light, dark, paper]: [&'static str; 3]) -> Colour {
    Colour { name, light, dark, paper }
}

const BLACK: &str = "#000000";
/// Grey of series on paper: neighbouring series differ in dash, marker and grey.
const GREY: &str = "#737373";

/// Colours of pages. The series have the colours of Okabe and Ito, Color Universal Design (2008,
/// jfly.uni-koeln.de/color). Dark mode has the published colours. Light mode has darker colours
/// with a contrast of 3.
const COLOURS: [Colour; 18] = [
    colour("page", ["#ffffff", "#15181c", "#ffffff"]),
    colour("text", ["#1c1e21", "#e6e8eb", BLACK]),
    colour("soft", ["#5b626b", "#a4abb4", BLACK]),
    colour("line", ["#d8dce1", "#3a4048", "#d9d9d9"]),
    colour("shade", ["#b4bbc4", "#000000", "#ffffff"]),
    colour("band", ["#f4f6f8", "#1d2126", BLACK]),
    colour("warn", ["#fff6dd", "#332a12", BLACK]),
    colour("warn-line", ["#b07a00", "#e0b040", BLACK]),
    colour("good", ["#00664a", "#4fd0a5", BLACK]),
    colour("bad", ["#a53a00", "#ff9a66", BLACK]),
    colour("c0", ["#1951d0", "#56b4e9", BLACK]),
    colour("c1", ["#f6480a", "#d55e00", GREY]),
    colour("c2", ["#01915a", "#009e73", BLACK]),
    colour("c3", ["#9f6092", "#cc79a7", GREY]),
    colour("c4", ["#1c1e21", "#e6e8eb", BLACK]),
    colour("c5", ["#5879d0", "#0072b2", GREY]),
    colour("c6", ["#709922", "#f0e442", BLACK]),
    colour("c7", ["#612d1d", "#e69f00", GREY]),
];

/// CSS classes of series, each with the name of its colour.
const SERIES: [(&str, &str); 12] = [
    ("s0", "c0"),
    ("s1", "c1"),
    ("s2", "c2"),
    ("s3", "c3"),
    ("s4", "c4"),
    ("s5", "c5"),
    ("s6", "c6"),
    ("s7", "c7"),
    ("total", "c4"),
    ("queue", "c0"),
    ("threshold", "c1"),
    ("other", "soft"),
];

/// A CSS rule of the style sheet for charts.
enum Rule {
    /// A CSS rule that applies to every chart.
    Chart(&'static str),
    /// A rule for elements in the colour of their series: `{of}` is the parent's class, `{c}` the
    /// colour.
    Series(&'static str),
}

const RULES: [Rule; 15] = [
    Rule::Chart(
        r#"svg text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--text); }"#,
    ),
    Rule::Chart("svg text.tick, svg text.title { fill: var(--soft); }"),
    Rule::Chart("svg text.end { text-anchor: end; }"),
    Rule::Chart("svg text.middle { text-anchor: middle; }"),
    Rule::Chart("svg .grid { stroke: var(--line); stroke-width: 1; opacity: 0.6; }"),
    Rule::Chart("svg .frame { fill: none; stroke: var(--soft); stroke-width: 1; }"),
    Rule::Series("{of} .line { fill: none; stroke: {c}; stroke-width: 1.8; stroke-linejoin: round; }"),
    Rule::Series("{of} .area { fill: {c}; fill-opacity: 0.22; stroke: {c}; stroke-width: 0.8; }"),
    Rule::Series("{of} .mark { fill: {c}; stroke: {c}; stroke-width: 1.4; }"),
    Rule::Chart("svg .mark.weak { fill: var(--page); }"),
    Rule::Chart("svg .mark.hollow { fill: none; stroke-width: 1.6; }"),
    Rule::Series("{of} .whisker { fill: none; stroke: {c}; stroke-width: 1.6; }"),
    Rule::Series(
        "{of} rect.bar { height: 15px; fill: {c}; stroke: {c}; stroke-width: 1; } {of} rect.bar.weak { fill: var(--page); }",
    ),
    Rule::Series("{of} rect.heat { fill: {c}; stroke: var(--page); stroke-width: 1; }"),
    Rule::Chart("svg text.inverse { fill: var(--page); }"),
];

/// Dash patterns of the lines of series.
const DASHES: [&str; 4] = [
    ".s1 .line { stroke-dasharray: 7 3; } .s2 .line { stroke-dasharray: 3 2.5; } .s3 .line { stroke-dasharray: 9 3 2 3; }",
    ".s4 .line { stroke-dasharray: 14 3; } .s5 .line { stroke-dasharray: 10 3 2 3 2 3; } .s6 .line { stroke-dasharray: 5 5; } .s7 .line { stroke-dasharray: 1 4; stroke-linecap: round; }",
    ".solid .line { stroke-dasharray: none; } .limit .line { stroke-dasharray: 5 3; stroke-width: 1.2; opacity: 0.8; }",
    ".threshold .line { stroke-dasharray: 6 3; }",
];

/// Returns the style of pages: colours, their dark variants, and the rules of charts.
pub(super) fn of_pages() -> String {
    let colours = |of: fn(&Colour) -> &'static str| {
        COLOURS.iter().map(|colour| format!(" --{}: {};", colour.name, of(colour))).collect::<String>()
    };
    let mut style = format!(
        ":root {{ color-scheme: light dark;{} }}\n\
         /* Paper is light, whatever the screen is. */\n\
         @media print {{ :root {{ color-scheme: light; }} }}\n\
         @media screen and (prefers-color-scheme: dark) {{ :root {{{} }} }}\n",
        colours(|colour| colour.light),
        colours(|colour| colour.dark),
    );
    for (class, colour) in SERIES {
        style.push_str(&format!(".{class} {{ --c: var(--{colour}); }}\n"));
    }
    for rule in &RULES {
        match rule {
            Rule::Chart(rule) => style.push_str(rule),
            Rule::Series(rule) => style.push_str(&rule.replace("{of}", "svg").replace("{c}", "var(--c)")),
        }
        style.push('\n');
    }
    style + &DASHES.join("\n") + "\n"
}

/// Returns the rules of charts in light colours, for a separate file. Programs other than browsers
/// do not support CSS variables.
pub(crate) fn of_files(figure: FigureStyle) -> String {
    let value = |colour: &Colour| if figure == FigureStyle::Paper { colour.paper } else { colour.light };
    let resolved = |rule: &str| {
        let fill =
            |rule: String, colour: &Colour| rule.replace(&format!("var(--{})", colour.name), value(colour));
        COLOURS.iter().fold(rule.to_owned(), fill)
    };
    let mut style = String::from("text.caption { font-weight: 600; }");
    for rule in &RULES {
        match rule {
            Rule::Chart(rule) => style.push_str(&resolved(rule)),
            Rule::Series(rule) => {
                for (class, colour) in SERIES {
                    let rule = rule.replace("{of}", &format!(".{class}"));
                    style.push_str(&resolved(&rule.replace("{c}", &format!("var(--{colour})"))));
                }
            }
        }
    }
    style + &DASHES.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrices that simulate colour vision without one kind of cones, from linear RGB to linear
    /// RGB. The matrices show complete dichromacy (Machado, Oliveira and Fernandes, A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency, IEEE TVCG 15, 2009).
    const SIGHTS: [(&str, [[f64; 3]; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ),
    ];

    /// Converts a colour `#rrggbb` to linear light.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance([r, g, b]: [f64; 3]) -> f64 {
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Converts linear light to CIE L*a*b*, in which distances approximate perceived differences.
    fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
        let root = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = root(luminance([r, g, b]));
        let z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn seen(colour: &str, sight: &[[f64; 3]; 3]) -> [f64; 3] {
        let light = linear(colour);
        lab(sight.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0)))
    }

    #[test]
    fn series_are_told_apart_by_readers_of_every_colour_sight() {
        let sides: [fn(&Colour) -> &'static str; 2] = [|colour| colour.light, |colour| colour.dark];
        for side in sides {
            let named = |name: &str| side(COLOURS.iter().find(|known| known.name == name).expect("a colour"));
            let page = named("page");
            let series: Vec<&str> = (0..STYLES).map(|number| named(&format!("c{number}"))).collect();
            for colour in &series {
                let (a, b) = (luminance(linear(colour)), luminance(linear(page)));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 3.0, "{colour} on {page}: {contrast} (WCAG 2.1, 1.4.11 wants 3)");
            }
            for (name, sight) in &SIGHTS {
                for (at, one) in series.iter().enumerate() {
                    for other in &series[at + 1..] {
                        let (a, b) = (seen(one, sight), seen(other, sight));
                        let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        // A colour difference of about 2.3 is just visible between adjacent areas.
                        // Lines of a chart are thin and far apart, so their colours must differ
                        // more.
                        assert!(apart >= 11.0, "{one} and {other} with {name}: {apart}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_file_has_rules_for_every_class_and_no_variables() {
        let style = of_files(FigureStyle::Screen);
        for class in ["s0", "s7", "total", "queue", "threshold", "other"] {
            assert!(style.contains(&format!(".{class} .line {{ fill: none; stroke: #")), "{class}: {style}");
        }
        assert!(!style.contains("var("), "{style}");
    }

    #[test]
    fn a_figure_for_paper_has_no_colour() {
        let style = of_files(FigureStyle::Paper);
        let colours: Vec<&str> = style.split('#').skip(1).filter_map(|rest| rest.get(..6)).collect();
        assert!(colours.len() > 20 && !style.contains("var("), "{style}");
        for colour in colours {
            assert!(colour[..2] == colour[2..4] && colour[2..4] == colour[4..], "{colour}");
        }
    }
}
