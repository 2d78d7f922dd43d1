// Index of the longest queue: a tree of comparators, as Longest Queue Drop and Pushout need it to
// select a victim.
//
// A contrast to the other circuits: all lengths are compared at once. So they are in flip-flops,
// not in a memory, and N queues need N - 1 comparators. Among equal lengths, the queue with the
// smallest number is chosen. Reference: the properties in rtl/formal.
//
// Latency: 2 clocks from a change of a length (length, tree) to the answer. Rate: one change per
// clock. Lengths are bytes.
module longest_queue #(
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
    // The longest queue one clock earlier.
    output logic [A-1:0] longest,
    output logic [W-1:0] longest_bytes
);
    localparam int N = 2 ** A;

    logic [N*W-1:0] lengths;

    for (genvar i = 0; i < N; i++) begin : entry
        always_ff @(posedge clk) begin
            if (rst) lengths[i*W+:W] <= '0;
            else if (write && which == A'(i)) lengths[i*W+:W] <= bytes;
        end
    end

    // Level 0 has the queues; each level above has half as many nodes.
    for (genvar level = 0; level <= A; level++) begin : tree
        logic [(N>>level)*W-1:0] most;
        logic [(N>>level)*A-1:0] who;
        for (genvar i = 0; i < N >> level; i++) begin : node
            if (level == 0) begin : leaf
                assign most[i*W+:W] = lengths[i*W+:W];
                assign who[i*A+:A]  = A'(i);
            end else begin : inner
                logic second;
                assign second = tree[level-1].most[(2*i+1)*W+:W] > tree[level-1].most[2*i*W+:W];
                assign most[i*W+:W] = second ? tree[level-1].most[(2*i+1)*W+:W] : tree[level-1].most[2*i*W+:W];
                assign who[i*A+:A]  = second ? tree[level-1].who[(2*i+1)*A+:A] : tree[level-1].who[2*i*A+:A];
            end
        end
    end

    always_ff @(posedge clk) begin
        longest       <= tree[A].who;
        longest_bytes <= tree[A].most;
    end

`ifdef FORMAL
    `include "longest_queue.properties"
`endif
endmodule
