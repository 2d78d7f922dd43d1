//! What calculators state is what packets show.

mod agreement;
