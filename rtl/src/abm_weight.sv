// ABM's factor of a queue, alpha * gamma / n, for scheduled and for unscheduled packets.
//
// Each clock computes one bit of the quotient, the highest first, by restoring division. Horner's
// rule multiplies by each bit as it is computed. So no divider or multiplier is needed for
// refreshing factors, once per queue and update interval. Both steps round down like the policy:
// floor(alpha * floor(gamma 2^32 / n) / 2^32). Source: ABM, SIGCOMM 2022, Eq. 9; reference: the
// policy `abm`.
//
// Latency: 34 clocks from `start` to `done`. Widths: alpha Q17.32, gamma Q1.32 (at most 1), n QN.32
// (at least 1).
module abm_weight #(
    parameter int N_W = 43
) (
    input  logic           clk,
    input  logic           rst,
    input  logic           start,
    input  logic [48:0]    alpha,
    input  logic [48:0]    unscheduled_alpha,
    input  logic [32:0]    gamma,
    input  logic [N_W-1:0] n,
    output logic           busy,
    output logic           done,               // for one clock
    output logic [48:0]    weight,
    output logic [48:0]    unscheduled_weight
);
    localparam int BITS = 33;  // one integer bit, 32 fractional bits

    logic [5:0]     left;
    logic [N_W:0]   rest, difference;
    logic           bit_now;
    logic [81:0]    product, unscheduled_product;
    logic [48:0]    factor, unscheduled_factor;
    logic [N_W-1:0] divisor;

    assign difference = rest - {1'b0, divisor};
    assign bit_now    = rest >= {1'b0, divisor};
    assign busy       = left != '0;
    assign weight             = product[80:32];
    assign unscheduled_weight = unscheduled_product[80:32];

    always_ff @(posedge clk) begin
        if (rst) left <= '0;
        else if (start) left <= 6'(BITS);
        else if (busy) left <= left - 1'b1;
        done <= !rst && left == 6'd1;
        if (start) begin
            rest                <= (N_W+1)'(gamma);
            divisor             <= n;
            factor              <= alpha;
            unscheduled_factor  <= unscheduled_alpha;
            product             <= '0;
            unscheduled_product <= '0;
        end else if (busy) begin
            rest                <= (bit_now ? difference : rest) << 1;
            product             <= (product << 1) + (bit_now ? 82'(factor) : 82'b0);
            unscheduled_product <= (unscheduled_product << 1) + (bit_now ? 82'(unscheduled_factor) : 82'b0);
        end
    end

    // gamma is at most 1 and n at least 1: the quotient is at most 1 and the product below 2^81.
    logic unused;
    assign unused = &{1'b0, product[81], product[31:0], unscheduled_product[81], unscheduled_product[31:0]};
endmodule
