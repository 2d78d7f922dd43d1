//! Every closed form of the papers, in its corrected form, with the printed one beside it where they differ.
