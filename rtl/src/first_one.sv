// Index of the first set bit, found by a tree: each node outputs whether a bit below it is set, and
// the index of the first one.
//
// Latency: combinational, A levels.
module first_one #(
    parameter int A = 3
) (
    input  logic [2**A-1:0] bits,
    output logic            any,
    output logic [A-1:0]    first
);
    localparam int N = 2 ** A;

    for (genvar level = 0; level <= A; level++) begin : tree
        logic [(N>>level)-1:0]   set;
        logic [(N>>level)*A-1:0] who;
        for (genvar i = 0; i < N >> level; i++) begin : node
            if (level == 0) begin : leaf
                assign set[i]      = bits[i];
                assign who[i*A+:A] = A'(i);
            end else begin : inner
                assign set[i]      = tree[level-1].set[2*i] || tree[level-1].set[2*i+1];
                assign who[i*A+:A] = tree[level-1].set[2*i] ? tree[level-1].who[2*i*A+:A] : tree[level-1].who[(2*i+1)*A+:A];
            end
        end
    end

    assign any   = tree[A].set;
    assign first = tree[A].who;
endmodule
