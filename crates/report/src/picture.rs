//! Renders charts as images with the program's bundled fonts, so that every machine draws
//! identical images.

use crate::error::ReportError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use std::sync::{Arc, LazyLock};

/// Pixels of an image per unit of the drawing.
const SCALE: f32 = 2.0;
const FAMILY: &str = "DejaVu Sans";

/// The program's bundled fonts, without the fonts of the system.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(include_bytes!("../fonts/DejaVuSans.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../fonts/DejaVuSans-Bold.ttf").to_vec());
    fonts.set_sans_serif_family(FAMILY);
    fonts.set_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Reads an SVG file. Errors name the file `title`.
pub(crate) fn tree(svg: &str, title: &str) -> Result<Tree, ReportError> {
    let options =
        Options { fontdb: Arc::clone(&FONTS), font_family: FAMILY.to_owned(), ..Options::default() };
    Tree::from_str(svg, &options)
        .map_err(|error| ReportError::Picture { title: title.to_owned(), problem: error.to_string() })
}

/// Renders an SVG file as a PNG image with twice the file's width and height. Error messages name
/// the file `title`.
pub(crate) fn png(svg: &str, title: &str) -> Result<Vec<u8>, ReportError> {
    png_scaled(svg, title, SCALE)
}

/// Renders an SVG file as PNG with `scale` pixels per pixel (1/96 inch) of the file.
pub(crate) fn png_scaled(svg: &str, title: &str, scale: f32) -> Result<Vec<u8>, ReportError> {
    let failed = |problem: String| ReportError::Picture { title: title.to_owned(), problem };
    let tree = tree(svg, title)?;
    let size = tree.size().to_int_size().scale_by(scale);
    let mut pixels = size
        .and_then(|size| Pixmap::new(size.width(), size.height()))
        .ok_or_else(|| failed("its size is zero".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}
