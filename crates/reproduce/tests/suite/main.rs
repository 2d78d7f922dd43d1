//! The ledger of claims and the experiments behind it.

mod ledger;
mod mistakes;
mod rows;
mod running;
