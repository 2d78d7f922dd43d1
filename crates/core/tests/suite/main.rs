//! Tests of the switch and its policies through their public interface.

mod accounting;
mod bursts;
mod failures;
mod intelligent_buffer;
mod lossless;
mod losspass;
mod params;
mod plasticine;
mod plasticine_pisa;
mod profiles;
mod reference_policies;
mod registry;
mod schedulers;
mod steady_state;
