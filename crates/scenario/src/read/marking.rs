//! Reads `[switch.ecn]`: congestion marking. The registry of marking rules declares the rules'
//! keys.

use super::files::Inputs;
use super::scheduler::check_priorities;
use crate::context::{Complaint, Context};
use crate::format::{EcnKeys, NO_MARKS};
use crate::model::EcnSpec;
use crate::quantity::format_size;
use crate::reader::Reader;
use crate::resolved::{OutTable, quote};
use crate::tree::Origin;
use bufferlab_core::{BuildError, MARKERS, Profile, SwitchShape};
use bufferlab_document::params::{params_of_kind, report, write_all};

/// A marking rule with its parameters, and their places in the file.
pub(crate) struct MarkerChoice {
    pub(crate) spec: EcnSpec,
    path: String,
    origin: Origin,
    /// Place of every parameter that the scenario file sets.
    places: Vec<(&'static str, Origin)>,
}

/// Reads the table `[switch.ecn]`; `None` if the switch marks no packets, or a value is invalid.
pub(crate) fn read(
    switch: &mut Reader<'_>,
    queues_per_port: Option<u8>,
    profile: Profile,
    inputs: &Inputs,
) -> Option<MarkerChoice> {
    switch.spec_of("ecn");
    let mut none = OutTable::default();
    none.set("kind", quote(NO_MARKS));
    // The resolved scenario has `kind = "none"` unless a rule is read below, because an override
    // may have to switch marking off.
    switch.put("ecn", none);
    if !switch.has("ecn") {
        return None;
    }
    let mut reader = switch.table("ecn")?;
    let mut keys = EcnKeys::read(&mut reader);
    check_priorities(&reader, keys.priorities.iter().flatten().next().map(Vec::as_slice), queues_per_port);
    let params = params_of_kind(&reader, profile, inputs);
    let info = MARKERS.find(reader.kind())?;
    let params = params?;
    if let Err(faults) = (info.check)(&params) {
        report(&reader, &params, faults);
        return None;
    }
    write_all(&mut reader.out, &params);
    let place = |param: &'static str| reader.item(param).map(|item| (param, item.origin));
    let places = info.params.iter().filter_map(|param| place(param.name)).collect();
    let path = switch.path("ecn");
    switch.put("ecn", reader.finish());
    (keys.kind, keys.params) = (Some(info.name.to_owned()), Some(params));
    Some(MarkerChoice { spec: keys.complete()?, path, origin: switch.place("ecn"), places })
}

impl MarkerChoice {
    /// Checks that the marking rule fits the switch called `name` and can mark packets of this
    /// switch. Warns if the rule can never mark and `may_warn` is true.
    pub(crate) fn check(
        &self,
        context: &Context,
        name: &str,
        shape: &SwitchShape,
        buffer_bytes: u64,
        may_warn: bool,
    ) -> Checked {
        let marker = match self.spec.marker(shape) {
            Ok(marker) => marker,
            Err(error) => {
                self.refuse(context, name, &error);
                return Checked::Unfit;
            }
        };
        let least = marker.rule.least_length();
        if least < buffer_bytes {
            return Checked::Marks;
        }
        if may_warn {
            let message = format!(
                "nothing is ever marked: the threshold ({}) is not below the buffer of \"{name}\" ({})",
                format_size(least),
                format_size(buffer_bytes)
            );
            let complaint = Complaint::new(message, "above any queue");
            context.warn(&self.path, self.origin, complaint.help("check the unit"));
        }
        Checked::NeverMarks
    }

    fn refuse(&self, context: &Context, name: &str, error: &BuildError) {
        let complaint =
            Complaint::new(format!("on \"{name}\": {}", error.message), "does not fit the switch");
        let place = self.places.iter().find(|(param, _)| *param == error.param);
        let origin = place.map_or(self.origin, |(_, origin)| *origin);
        let complaint = complaint.help("change the parameter, the buffer or the ports");
        context.error(&format!("{}.{}", self.path, error.param), origin, complaint);
    }
}

/// Effect of a marking rule on a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// The marking rule can mark packets on the switch.
    Marks,
    /// The marking rule never marks a packet, because no queue can be long enough.
    NeverMarks,
    /// The marking rule does not fit the switch; the context has the error.
    Unfit,
}
