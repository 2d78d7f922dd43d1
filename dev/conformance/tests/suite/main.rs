//! Tests of the claims of policies and of papers.

mod canaries;
mod claims_losspass;
mod claims_plasticine;
mod claims_reverie;
mod claims_tdt;
mod classifiers;
mod competitive;
mod congestion;
mod docs;
mod marking;
mod newcomer;
mod pisa_staleness;
mod recovery;
mod registry;
mod report;
mod support;
mod vectors;
mod watchdog;
