//! The plain classifier: the priority in the header selects the queue.

use super::{CODE_POINTS, Classifier, ClassifierInfo, existing_queue};
use bufferlab_params::{BuildError, ParamInfo, ParamKind, Params};

pub(super) static INFO: ClassifierInfo = ClassifierInfo {
    name: "priority",
    aliases: &["map"],
    title: "Priority",
    summary: "The priority in the packet's header selects its queue.",
    source: "IEEE 802.1Q, section 8.6.6 (traffic class table).",
    params: &[ParamInfo::computed(
        "queues",
        ParamKind::List(&QUEUE),
        "priority p joins queue p, or the last queue",
        "[0, 0, 1]",
        "Queue of each priority, from 0; the last one applies to all further priorities.",
    )],
    build: &build,
};

const QUEUE: ParamKind = ParamKind::Count { min: 0, max: 63 };

fn build(params: &Params, queues_per_port: usize) -> Result<Classifier, BuildError> {
    if !params.has("queues") {
        return Ok(Classifier::identity(queues_per_port));
    }
    let queues = params.counts("queues").into_iter();
    let queues = queues.map(|queue| existing_queue(queue, queues_per_port, "queues"));
    let queues = queues.collect::<Result<Vec<u8>, _>>()?;
    if queues.is_empty() || queues.len() > CODE_POINTS {
        let message = format!("{} queues are listed; expected 1 to {CODE_POINTS}", queues.len());
        return Err(BuildError { param: "queues", message });
    }
    let map = std::array::from_fn(|priority| queues[priority.min(queues.len() - 1)]);
    Ok(Classifier::from_map(map, queues_per_port))
}
