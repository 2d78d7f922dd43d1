//! Tests of the ledger of claims and of its experiments.

mod ledger;
mod mistakes;
mod rows;
mod running;
