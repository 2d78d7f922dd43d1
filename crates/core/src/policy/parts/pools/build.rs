//! Construction of the pools of a switch: their sizes, and the limits of every queue.

use super::{Egress, Pools, Sizes, Sums, is_lossless};
use crate::hardware::QueueMinimums;
use crate::policy::interface::{BuildError, SwitchShape};
use crate::policy::parts::dynamic_headroom::{HEADROOM_MODE, HeadroomMode};
use crate::policy::parts::lossless::Lossless;
use crate::policy::parts::queue_profiles::{Limit, refuse, resolve};
use crate::policy::parts::slices::Slices;
use crate::policy::parts::sonic::{
    INGRESS_POOL, LOSSLESS_EGRESS_ALPHA, LOSSY_INGRESS_ALPHA, LOSSY_POOL, RESERVED,
};
use crate::weight::Weight;
use bufferlab_params::Params;
use bufferlab_params::profiles::Direction;
use std::ops::Range;

/// Saturating sum of reserves. A scenario may name absurdly large reserves.
fn total(reserves: &[u64]) -> u64 {
    reserves.iter().fold(0, |sum, reserve| sum.saturating_add(*reserve))
}

/// Refuses reserves that would count a packet twice. Lossless egress queues have no reserves, since
/// their pool is the whole buffer. Lossy ingress queues have no reserves if packets in minimums of
/// egress queues need no ingress pool.
fn refuse_reserves(params: &Params, shape: &SwitchShape) -> Result<(), BuildError> {
    let minimums = shape.accounting.queue_minimums;
    refuse(params, |profile| {
        let covers = |direction, lossless: bool| {
            let mut queues = (0..shape.ports())
                .flat_map(|port| (0..shape.queues_per_port).map(move |priority| (port, priority)));
            profile.reserved.is_some_and(|bytes| bytes > 0)
                && queues.any(|(port, priority)| {
                    profile.covers(direction, port, priority)
                        && is_lossless(shape, port, priority) == lossless
                })
        };
        if covers(Direction::Egress, true) {
            Some("lossless egress queues need no reserve: their pool is the whole buffer; leave it out")
        } else if minimums == QueueMinimums::EverySlice && covers(Direction::Ingress, false) {
            Some("with queue_minimums = \"every-slice\", lossy ingress queues have no reserve: leave it out")
        } else {
            None
        }
    })
}

/// Reserved bytes of one memory slice.
struct SetAside {
    /// Bytes reserved for the ingress queues of the memory slice.
    reserves: u64,
    headroom: u64,
    /// Minimum bytes of all egress queues together.
    minimums: u64,
}

/// Computes the sizes of the pools of a memory slice.
fn sizes(params: &Params, shape: &SwitchShape, aside: &SetAside) -> Result<Sizes, BuildError> {
    let slices = shape.slices() as u64;
    let capacity = shape.capacity / slices;
    let of_memory = match shape.accounting.queue_minimums {
        QueueMinimums::LossyPool => 0,
        QueueMinimums::EverySlice => aside.minimums,
    };
    let set_aside = aside.reserves.saturating_add(aside.headroom).saturating_add(of_memory);
    if set_aside.saturating_add(shape.max_packet) > capacity && set_aside > aside.headroom {
        let queues = shape.lossless_queues();
        let of_slice = if slices > 1 { format!(" of a slice ({slices} slices)") } else { String::new() };
        let message = format!(
            "reserves and headroom of {queues} lossless ingress queues, {set_aside} B, leave no room for a packet in \
             the buffer's {capacity} B{of_slice}"
        );
        let general = params.bytes(RESERVED.name).saturating_mul(queues);
        return Err(BuildError {
            param: if aside.reserves > general || of_memory > 0 { "profiles" } else { RESERVED.name },
            message,
        });
    }
    let left = capacity.saturating_sub(set_aside);
    let ingress = match params.bytes(INGRESS_POOL.name) / slices {
        0 => left,
        given if given <= left => given,
        given => {
            let message = format!(
                "{} B, and reserves and headroom leave {} B of the buffer's {} B",
                given * slices,
                left * slices,
                shape.capacity
            );
            return Err(BuildError { param: INGRESS_POOL.name, message });
        }
    };
    let lossy = Weight::from_f64(params.ratio(LOSSY_POOL.name)).apply(ingress);
    let of_lossy = aside.minimums - of_memory;
    if of_lossy > 0 && of_lossy.saturating_add(shape.max_packet) > lossy {
        let message = format!(
            "reserves of egress queues, {of_lossy} B, leave no room for a packet in the egress lossy pool of {lossy} B"
        );
        return Err(BuildError { param: "profiles", message });
    }
    Ok(Sizes { ingress, lossy: lossy - of_lossy, lossless_egress: capacity })
}

/// Limit of each queue: the threshold of the queue's profile if its class is `for_lossless`,
/// otherwise `general`.
fn limits(
    params: &Params,
    shape: &SwitchShape,
    direction: Direction,
    for_lossless: bool,
    general: Limit,
) -> Vec<Limit> {
    let own = resolve(
        params,
        shape,
        direction,
        |profile| profile.threshold.map(|rule| Some(rule.into())),
        |_, _| None,
    );
    let value = |(queue, limit): (usize, Option<Limit>)| {
        let (port, priority) = (queue / shape.queues_per_port, queue % shape.queues_per_port);
        limit.filter(|_| is_lossless(shape, port, priority) == for_lossless).unwrap_or(general)
    };
    own.into_iter().enumerate().map(value).collect()
}

impl Pools {
    /// Builds the pools from the parameters of the policies on SONiC's model.
    ///
    /// # Errors
    /// Returns the parameter that leaves no space in the buffer,
    /// or a profile that does not fit the switch.
    pub(crate) fn new(params: &Params, shape: &SwitchShape) -> Result<Self, BuildError> {
        let lossless = Lossless::new(params, shape)?;
        let dynamic = match params.choice(HEADROOM_MODE.name) {
            HeadroomMode::Static => None,
            HeadroomMode::DshLike => Some(lossless.insurances(shape)),
        };
        refuse_reserves(params, shape)?;
        let general = params.bytes("reserved");
        let reserved = resolve(
            params,
            shape,
            Direction::Ingress,
            |profile| profile.reserved,
            |port, priority| if is_lossless(shape, port, priority) { general } else { 0 },
        );
        let egress_reserved = resolve(params, shape, Direction::Egress, |profile| profile.reserved, |_, _| 0);
        let everywhere = (0..shape.ports()).fold(u32::MAX, |mask, port| mask & shape.lossless_at(port));
        let egress = |(queue, &reserved): (usize, &u64)| {
            let takes_lossy = everywhere >> (queue % shape.queues_per_port) & 1 == 0;
            Egress { reserved, counted: 0, takes_lossy }
        };
        let egress = egress_reserved.iter().enumerate().map(egress).collect();
        let of_slice = |(queues, headroom): (Range<usize>, &u64)| {
            let aside = SetAside {
                reserves: total(&reserved[queues]),
                headroom: *headroom,
                minimums: total(&egress_reserved),
            };
            sizes(params, shape, &aside)
        };
        let sizes = shape.ingress_queues_by_slice().zip(lossless.pools()).map(of_slice);
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        let counted = if reserved.iter().any(|&reserve| reserve > 0) { shape.ingress_queues() } else { 0 };
        let limit = |name| Limit::Dynamic(Weight::from_f64(params.ratio(name)));
        let somewhere = (0..shape.ports()).fold(0, |mask, port| mask | shape.lossless_at(port));
        let minimums = shape.accounting.queue_minimums;
        let split = everywhere != somewhere || sizes.len() > 1 || minimums == QueueMinimums::EverySlice;
        Ok(Self {
            lossless,
            dynamic,
            sums: vec![Sums::default(); sizes.len()],
            sizes,
            lossy_ingress: limits(params, shape, Direction::Ingress, false, limit(LOSSY_INGRESS_ALPHA.name)),
            lossless_egress_limits: limits(
                params,
                shape,
                Direction::Egress,
                true,
                limit(LOSSLESS_EGRESS_ALPHA.name),
            ),
            reserved,
            egress,
            minimums,
            split: split.then(|| Slices::new(shape)),
            queues_per_port: shape.queues_per_port,
            counted_reserve: vec![0; counted],
        })
    }
}
