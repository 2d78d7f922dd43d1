//! Tests that a fault states its place and advice.

use bufferlab_params::{Fault, ParamPlace};

#[test]
fn a_place_leads_from_the_parameter_to_a_part_of_its_value() {
    let place = ParamPlace::new("links").element(2).key("ends").inner(1);
    assert_eq!(
        (place.param, place.element, place.key, place.inner),
        ("links", Some(2), Some("ends"), Some(1))
    );
    let whole = ParamPlace::from("links");
    assert_eq!((whole.param, whole.element, whole.key, whole.inner), ("links", None, None, None));
}

#[test]
fn a_fault_keeps_what_is_added_to_it() {
    let plain = Fault::new("file", "a flow of 0 bytes", "expected 1 B or more");
    assert_eq!(plain.to_string(), "file: a flow of 0 bytes");
    assert_eq!((plain.help.as_deref(), plain.line, plain.also.len()), (None, None, 0));
    let fault =
        plain.help("remove the line").at_line(7).also(ParamPlace::new("hosts").element(1), "this host");
    assert_eq!(fault.message, "a flow of 0 bytes");
    assert_eq!(fault.label, "expected 1 B or more");
    assert_eq!((fault.help.as_deref(), fault.line), (Some("remove the line"), Some(7)));
    assert_eq!(fault.also, [(ParamPlace::new("hosts").element(1), "this host".to_owned())]);
}
