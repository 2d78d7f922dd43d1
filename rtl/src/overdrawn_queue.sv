// Round-robin selection among queues over a threshold, with one bit per queue.
//
// The selection of Occamy (Shan et al., EuroSys 2025) serves every queue over the threshold in
// turn, instead of the longest one. It needs a comparator per queue, all with one threshold, and an
// arbiter of single bits instead of a tree that carries lengths. Reference: the properties in
// rtl/formal.
//
// Latency: 2 clocks from a change of a length or of the threshold (bits, arbiter) to the answer.
// Rate: one change per clock.
module overdrawn_queue #(
    parameter int PORTS  = 8,
    parameter int QUEUES = 1,
    parameter int W      = 26,
    parameter int A      = $clog2(PORTS * QUEUES)
) (
    input  logic         clk,
    input  logic         rst,
    // A queue's length changes.
    input  logic         write,
    input  logic [A-1:0] which,
    input  logic [W-1:0] bytes,
    // Threshold of all queues.
    input  logic [W-1:0] threshold,
    // Next selected queue, searched from the previous one on.
    output logic         some,
    output logic [A-1:0] next
);
    localparam int N = 2 ** A;

    logic [N*W-1:0] lengths;
    logic [N-1:0]   over;

    for (genvar i = 0; i < N; i++) begin : entry
        always_ff @(posedge clk) begin
            if (rst) lengths[i*W+:W] <= '0;
            else if (write && which == A'(i)) lengths[i*W+:W] <= bytes;
            over[i] <= !rst && lengths[i*W+:W] > threshold;
        end
    end

    // Queues after the last selected one take precedence; if none is over, the search starts anew.
    logic [N-1:0] behind;
    for (genvar i = 0; i < N; i++) begin : place
        if (i == 0) begin : never
            assign behind[i] = 1'b0;
        end else begin : later_on
            assign behind[i] = over[i] && A'(i) > next;
        end
    end

    logic         any_behind, any_over;
    logic [A-1:0] of_behind, of_over;
    first_one #(.A(A)) later (.bits(behind), .any(any_behind), .first(of_behind));
    first_one #(.A(A)) whole (.bits(over), .any(any_over), .first(of_over));

    always_ff @(posedge clk) begin
        some <= !rst && any_over;
        if (rst) next <= '0;
        else if (any_over) next <= any_behind ? of_behind : of_over;
    end

`ifdef FORMAL
    `include "overdrawn_queue.properties"
`endif
endmodule
