//! Words for operations and algorithms in files and options.

use super::{Algorithm, Operation};
use bufferlab_params::{Choice, Word};

impl Choice for Operation {
    const ALL: &'static [Self] = &Self::ALL;
    const WORDS: &'static [Word] = &[
        Word { name: "all_reduce", meaning: "every rank receives the sum of all ranks' `size` bytes" },
        Word { name: "all_gather", meaning: "every rank receives `size`/n bytes from each of the n ranks" },
        Word { name: "reduce_scatter", meaning: "every rank receives its part, `size`/n bytes, of the sum" },
        Word {
            name: "all_to_all",
            meaning: "every rank sends a different part, `size`/n bytes, to each rank",
        },
        Word { name: "broadcast", meaning: "every rank receives `size` bytes of the first one" },
        Word {
            name: "pipeline",
            meaning: "every rank sends `size` bytes to the next once it has received its own",
        },
    ];

    fn word(self) -> &'static str {
        self.name()
    }
}

impl Choice for Algorithm {
    const ALL: &'static [Self] = &Self::ALL;
    const WORDS: &'static [Word] = &[
        Word {
            name: "ring",
            meaning: "messages to the next rank; a broadcast is a chain, an all-to-all a rotation",
        },
        Word { name: "tree", meaning: "a binary tree" },
        Word { name: "double_binary_tree", meaning: "two binary trees with half of the data each" },
        Word {
            name: "halving_doubling",
            meaning: "exchanges with the ranks at distance n/2, n/4 … 1, or the reverse",
        },
        Word { name: "direct", meaning: "messages to all ranks at once" },
        Word {
            name: "hierarchical",
            meaning: "inside the servers first, then between ranks of equal position",
        },
    ];

    fn word(self) -> &'static str {
        self.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_names() {
        for (operation, word) in Operation::ALL.iter().zip(Operation::WORDS) {
            assert_eq!(operation.name(), word.name);
        }
        for (algorithm, word) in Algorithm::ALL.iter().zip(Algorithm::WORDS) {
            assert_eq!(algorithm.name(), word.name);
        }
    }
}
