//! Answers to engineering questions, each with the lines by which it was derived.
