//! Reads `switch.policy.profiles`, a list of buffer profiles, each a table.

use crate::context::{Complaint, Context, suggestion};
use crate::convert;
use crate::format::{Expected, Kind, PROFILE};
use crate::quantity::format_size;
use crate::resolved::{float, list, quote};
use crate::tree::{Item, Table, Value};
use bufferlab_core::{BufferProfile, ParamValue, ThresholdRule};

/// Keys that set the threshold of a buffer profile; a profile has at most one of these keys.
const THRESHOLDS: [&str; 3] = ["alpha", "dynamic_th", "static_threshold"];

/// Reads the profiles in `item`, whose path is `path`. The context records the
/// mistakes of each profile.
pub(super) fn read(context: &Context, path: &str, item: &Item) -> Option<ParamValue> {
    let mark = context.mark();
    let wanted = Expected {
        name: "profiles",
        kind: Kind::Tables(&PROFILE),
        example: "[{ priorities = [3], dynamic_th = -3, headroom = \"178 KB\" }]",
    };
    let Value::Array(items) = &item.value else {
        context.error(path, item.origin, convert::wrong_kind(item, &wanted));
        return None;
    };
    let mut profiles = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Value::Table(table) = &item.value else {
            let wanted = Expected { name: "profiles", kind: Kind::Table(&PROFILE), example: wanted.example };
            context.error(&path, item.origin, convert::wrong_kind(item, &wanted));
            continue;
        };
        let Some(profile) = profile(context, &path, table) else { continue };
        match profile.check() {
            Ok(()) => profiles.push(profile),
            Err(misfit) => {
                let complaint = Complaint::new(misfit.to_string(), "this profile");
                let help =
                    "a profile says which queues differ and in what: { priorities = [3], dynamic_th = -3 }";
                context.error(&path, item.origin, complaint.help(help));
            }
        }
    }
    (!context.failed_since(mark)).then(|| ParamValue::Profiles(profiles.into()))
}

fn profile(context: &Context, path: &str, table: &Table) -> Option<BufferProfile> {
    let mark = context.mark();
    let mut profile = BufferProfile::default();
    let mut threshold: Option<&str> = None;
    for entry in &table.entries {
        let path = format!("{path}.{}", entry.key);
        let Some(spec) = PROFILE.keys.iter().find(|spec| spec.name == entry.key) else {
            let known: Vec<_> = PROFILE.keys.iter().map(|spec| spec.name).collect();
            let help = match suggestion(&entry.key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("keys of a profile: {}", known.join(", ")),
            };
            context.error(&path, entry.key_origin, Complaint::new("unknown key", "no such key").help(help));
            continue;
        };
        if THRESHOLDS.contains(&spec.name)
            && let Some(first) = threshold.replace(spec.name)
        {
            let complaint = Complaint::new(format!("`{first}` is given, too"), "a second threshold");
            context.error(
                &path,
                entry.key_origin,
                complaint.help("a queue has one threshold: keep one of the two"),
            );
        }
        if let Err(complaint) = value(&mut profile, &entry.item, &spec.expected()) {
            let help = format!("{}\n{}", complaint.help.clone().unwrap_or_default(), spec.doc);
            context.error(&path, entry.item.origin, complaint.help(help.trim_start()));
        }
    }
    (!context.failed_since(mark)).then_some(profile)
}

fn value(profile: &mut BufferProfile, item: &Item, wanted: &Expected<'_>) -> Result<(), Complaint> {
    match wanted.kind {
        Kind::Words(_) => profile.direction = convert::choice(item, wanted)?,
        Kind::Counts { min, max } => {
            let numbers = convert::elements(item, wanted)?.iter();
            let numbers: Vec<u64> = numbers
                .map(|item| {
                    let kind = Kind::Count { min, max };
                    convert::count(item, &Expected { kind, ..*wanted }, min, max)
                })
                .collect::<Result<_, _>>()?;
            if numbers.is_empty() {
                let complaint = Complaint::new("the list is empty", "expected at least one number");
                return Err(complaint.help(format!("leave `{}` out for all of them", wanted.name)));
            }
            match wanted.name {
                "ports" => profile.ports = numbers.iter().map(|&number| number as u16).collect(),
                _ => profile.priorities = numbers.iter().map(|&number| number as u8).collect(),
            }
        }
        Kind::Ratio { min, max, open } => {
            let number = convert::ratio(item, wanted, min, max, open)?;
            let is_exponent = wanted.name == "dynamic_th";
            if is_exponent && number.fract() != 0.0 {
                let complaint = Complaint::new(format!("{number} is no whole number"), "expected -8 to 8");
                return Err(complaint.help("for other factors write alpha"));
            }
            let alpha = if is_exponent { number.exp2() } else { number };
            profile.threshold = Some(ThresholdRule::Dynamic(alpha));
        }
        Kind::Size { min, max } => {
            let bytes = convert::size(item, wanted, min, max)?;
            match wanted.name {
                "static_threshold" => profile.threshold = Some(ThresholdRule::Static(bytes)),
                "reserved" => profile.reserved = Some(bytes),
                "headroom" => profile.headroom = Some(bytes),
                "xon" => profile.xon = Some(bytes),
                _ => profile.xon_offset = Some(bytes),
            }
        }
        _ => unreachable!("no key of a profile has another kind"),
    }
    Ok(())
}

/// Writes a profile in the notation of scenario files, without loss.
pub(super) fn write(profile: &BufferProfile) -> String {
    let mut keys = vec![("direction", quote(profile.direction.word()))];
    if !profile.ports.is_empty() {
        keys.push(("ports", list(profile.ports.iter().map(ToString::to_string))));
    }
    if !profile.priorities.is_empty() {
        keys.push(("priorities", list(profile.priorities.iter().map(ToString::to_string))));
    }
    match profile.threshold {
        None => {}
        Some(ThresholdRule::Dynamic(alpha)) => keys.push(("alpha", float(alpha))),
        Some(ThresholdRule::Static(bytes)) => keys.push(("static_threshold", quote(&format_size(bytes)))),
    }
    let sizes = [
        ("reserved", profile.reserved),
        ("headroom", profile.headroom),
        ("xon", profile.xon),
        ("xon_offset", profile.xon_offset),
    ];
    keys.extend(sizes.iter().filter_map(|(name, bytes)| Some((*name, quote(&format_size((*bytes)?))))));
    let keys: Vec<_> = keys.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", keys.join(", "))
}
