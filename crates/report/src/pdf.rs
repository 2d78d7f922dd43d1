//! Charts as PDF: one page of outlines. Text consists of outlines, too, so that no
//! font is embedded.

use crate::error::ReportError;
use crate::picture;
use resvg::tiny_skia::{PathSegment, Point, Transform};
use resvg::usvg::{Color, FillRule, Group, LineCap, LineJoin, Node, Paint, Path};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Points per pixel of the drawing (1/72 inch per 1/96 inch).
const POINTS: f32 = 0.75;

/// Converts an SVG file of this crate to PDF. Equal drawings give equal bytes. Errors name
/// the file `title`.
pub(crate) fn pdf(svg: &str, title: &str) -> Result<Vec<u8>, ReportError> {
    let tree = picture::tree(svg, title)?;
    let (width, height) = (tree.size().width() * POINTS, tree.size().height() * POINTS);
    let mut page = Page::default();
    // The vertical axis of a PDF points up.
    let _ = writeln!(page.content, "{POINTS} 0 0 -{POINTS} 0 {height:.2} cm");
    page.group(tree.root(), Transform::identity(), 1.0);
    Ok(page.file((width, height), title))
}

/// Content of a PDF page while the page is drawn.
#[derive(Default)]
struct Page {
    content: String,
    /// Numbers of the graphics states, by the opacities (thousandths) of fills and strokes.
    states: BTreeMap<(u32, u32), usize>,
}

impl Page {
    fn group(&mut self, group: &Group, transform: Transform, opacity: f32) {
        let (transform, opacity) = (transform.pre_concat(group.transform()), opacity * group.opacity().get());
        for node in group.children() {
            match node {
                Node::Group(inner) => self.group(inner, transform, opacity),
                Node::Path(path) if path.is_visible() => self.path(path, transform, opacity),
                Node::Text(text) => self.group(text.flattened(), transform, opacity),
                // Charts contain no raster images, so the PDF writer skips image nodes.
                Node::Path(_) | Node::Image(_) => {}
            }
        }
    }

    fn path(&mut self, path: &Path, transform: Transform, opacity: f32) {
        let solid = |paint: &Paint| if let Paint::Color(color) = paint { Some(*color) } else { None };
        let fill = path.fill().and_then(|fill| Some((solid(fill.paint())?, fill)));
        let stroke = path.stroke().and_then(|stroke| Some((solid(stroke.paint())?, stroke)));
        let state = self.state(
            fill.map_or(1.0, |(_, fill)| fill.opacity().get() * opacity),
            stroke.map_or(1.0, |(_, stroke)| stroke.opacity().get() * opacity),
        );
        // Writing into a string cannot fail.
        let Transform { sx, ky, kx, sy, tx, ty } = transform;
        let _ = write!(self.content, "q {sx} {ky} {kx} {sy} {tx} {ty} cm /G{state} gs");
        if let Some((color, _)) = fill {
            let _ = write!(self.content, " {} rg", rgb(color));
        }
        if let Some((color, stroke)) = stroke {
            let cap = match stroke.linecap() {
                LineCap::Butt => 0,
                LineCap::Round => 1,
                LineCap::Square => 2,
            };
            let join = match stroke.linejoin() {
                LineJoin::Miter | LineJoin::MiterClip => 0,
                LineJoin::Round => 1,
                LineJoin::Bevel => 2,
            };
            let dashes: Vec<String> =
                stroke.dasharray().unwrap_or_default().iter().map(ToString::to_string).collect();
            let _ = write!(
                self.content,
                " {} RG {} w {cap} J {join} j [{}] {} d",
                rgb(color),
                stroke.width().get(),
                dashes.join(" "),
                stroke.dashoffset()
            );
        }
        self.content.push('\n');
        self.outline(path);
        let even = fill.is_some_and(|(_, fill)| fill.rule() == FillRule::EvenOdd);
        let paint = match (fill.is_some(), stroke.is_some(), even) {
            (true, true, false) => "B",
            (true, true, true) => "B*",
            (true, false, false) => "f",
            (true, false, true) => "f*",
            (false, true, _) => "S",
            (false, false, _) => "n",
        };
        let _ = writeln!(self.content, "{paint} Q");
    }

    fn outline(&mut self, path: &Path) {
        let mut at = Point::zero();
        for segment in path.data().segments() {
            let _ = match segment {
                PathSegment::MoveTo(to) => write!(self.content, "{} m ", pair(to)),
                PathSegment::LineTo(to) => write!(self.content, "{} l ", pair(to)),
                PathSegment::QuadTo(corner, to) => {
                    // A PDF has only cubic curves, so quadratic curves are converted.
                    let between = |from: Point| {
                        Point::from_xy(
                            from.x + (corner.x - from.x) * 2.0 / 3.0,
                            from.y + (corner.y - from.y) * 2.0 / 3.0,
                        )
                    };
                    write!(self.content, "{} {} {} c ", pair(between(at)), pair(between(to)), pair(to))
                }
                PathSegment::CubicTo(one, two, to) => {
                    write!(self.content, "{} {} {} c ", pair(one), pair(two), pair(to))
                }
                PathSegment::Close => write!(self.content, "h "),
            };
            if let PathSegment::MoveTo(to)
            | PathSegment::LineTo(to)
            | PathSegment::QuadTo(_, to)
            | PathSegment::CubicTo(_, _, to) = segment
            {
                at = to;
            }
        }
    }

    /// Number of the PDF graphics state with the opacities `fill` and `stroke`.
    fn state(&mut self, fill: f32, stroke: f32) -> usize {
        let thousandths = |opacity: f32| (opacity * 1000.0).round() as u32;
        let next = self.states.len();
        *self.states.entry((thousandths(fill), thousandths(stroke))).or_insert(next)
    }

    /// Formats the PDF file: catalogue, list of pages, the page, its content, the title, and the
    /// byte offsets of all parts.
    fn file(&self, (width, height): (f32, f32), title: &str) -> Vec<u8> {
        let states: String = self
            .states
            .iter()
            .map(|((fill, stroke), number)| {
                let part = |opacity: &u32| f64::from(*opacity) / 1000.0;
                format!("/G{number} << /ca {} /CA {} >> ", part(fill), part(stroke))
            })
            .collect();
        let utf16: String = title.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2} {height:.2}] /Contents 4 0 R \
                 /Resources << /ExtGState << {states}>> >> >>"
            ),
            format!("<< /Length {} >>\nstream\n{}endstream", self.content.len(), self.content),
            format!("<< /Title <FEFF{utf16}> /Producer (bufferlab) >>"),
        ];
        let mut file = String::from("%PDF-1.4\n");
        let mut places = String::new();
        for (number, object) in objects.iter().enumerate() {
            let _ = writeln!(places, "{:010} 00000 n ", file.len());
            let _ = write!(file, "{} 0 obj\n{object}\nendobj\n", number + 1);
        }
        let (start, count) = (file.len(), objects.len() + 1);
        let _ = write!(
            file,
            "xref\n0 {count}\n0000000000 65535 f \n{places}trailer\n<< /Size {count} /Root 1 0 R /Info 5 0 R >>\n\
             startxref\n{start}\n%%EOF\n"
        );
        file.into_bytes()
    }
}

fn rgb(Color { red, green, blue }: Color) -> String {
    let part = |value: u8| format!("{:.3}", f32::from(value) / 255.0);
    format!("{} {} {}", part(red), part(green), part(blue))
}

fn pair(Point { x, y }: Point) -> String {
    format!("{x:.2} {y:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWING: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" width="80pt" height="40pt">
        <path d="M1 1H9" stroke="#ff0000" stroke-width="2" opacity="0.5" fill="none"/>
        <text x="2" y="18" font-size="10">µ</text></svg>"##;

    #[test]
    fn a_page_has_the_size_of_the_drawing_and_its_places_are_right() {
        let bytes = pdf(DRAWING, "µ").expect("it can be drawn");
        assert_eq!(bytes, pdf(DRAWING, "µ").expect("again"), "the same bytes");
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.contains("/MediaBox [0 0 80.00 40.00]") && text.contains("/Title <FEFF00B5>"), "{text}");
        assert!(text.contains("1.000 0.000 0.000 RG 2 w") && text.contains("/CA 0.5"), "{text}");
        let (_, table) = text.split_once("xref\n0 6\n").expect("a table of places");
        for (number, line) in table.lines().skip(1).take(5).enumerate() {
            let place: usize = line[..10].parse().expect("a number");
            assert!(text[place..].starts_with(&format!("{} 0 obj", number + 1)), "{line}");
        }
        let start = text.find("stream\n").expect("content") + 7;
        let length = text[start..].find("endstream").expect("its end");
        assert!(text.contains(&format!("/Length {length} >>")));
        // The page draws the letter of the text as an outline.
        assert!(!text.contains("Tj") && text[start..start + length].contains(" c "), "{text}");
    }
}
