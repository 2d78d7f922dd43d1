// The threshold of Dynamic Thresholds, alpha (B - Q), for an alpha that is a power of two.
//
// alpha = 2^(16 - distance), so a single right shifter suffices: distance 0 means 65536, 16 means
// 1, 36 means 2^-20. The threshold is rounded down to a byte, as in the policy. Other alphas must
// first be rounded to a power of two, which changes them by a factor of at most the square root of
// two. Source: Choudhury and Hahne, ToN 1998; ABM Eq. 5.
//
// Latency: combinational.
module alpha_shift #(
    parameter int W = 26
) (
    input  logic [W-1:0]  free,       // B - Q (bytes)
    input  logic [5:0]    distance,
    output logic [W+15:0] threshold   // bytes
);
    assign threshold = {free, 16'b0} >> distance;
endmodule
