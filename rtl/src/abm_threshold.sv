// ABM's thresholds, alpha gamma / n (B - Q). The factors are refreshed queue by queue.
//
// SHIFTS = 0: exact, with a multiplier. SHIFTS = 1: the factor is rounded to the nearest power of
// two when it is refreshed, so that the threshold is a shift. It is then within a factor of the
// square root of two (proved in rtl/formal). Between updates the factor of a queue is frozen,
// as in the policy. Before its first update the factor of a queue is undefined: a control plane
// writes every queue once. Source: ABM, SIGCOMM 2022, Eq. 9, 12, section 4.4.
//
// Latency: combinational for a threshold; 36 clocks for an update, one update at a time.
module abm_threshold #(
    parameter int SHIFTS = 0,
    parameter int PORTS  = 8,
    parameter int QUEUES = 1,
    parameter int W      = 26,
    parameter int N_W    = 43,
    parameter int PORT_W = PORTS > 1 ? $clog2(PORTS) : 1,
    parameter int PRIO_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                 clk,
    input  logic                 rst,
    output logic                 ready,               // for an update
    // Configuration: alpha by priority (Q17.32), and alpha of unscheduled packets.
    input  logic [QUEUES*49-1:0] alphas,
    input  logic [48:0]          unscheduled_alpha,
    // New gamma (Q1.32) and n of a queue.
    input  logic                 update,
    input  logic [PORT_W-1:0]    update_port,
    input  logic [PRIO_W-1:0]    update_prio,
    input  logic [32:0]          gamma,
    input  logic [N_W-1:0]       n,
    // Query: the threshold of a queue.
    input  logic [PORT_W-1:0]    port,
    input  logic [PRIO_W-1:0]    prio,
    input  logic                 unscheduled,
    input  logic [W-1:0]         free,
    output logic [W+16:0]        threshold
);
    localparam int ADDRESS_W = PORT_W + PRIO_W;

    logic                 busy, done;
    logic [48:0]          weight, unscheduled_weight;
    logic [ADDRESS_W-1:0] target;

    abm_weight #(.N_W(N_W)) computation (
        .clk, .rst, .start(update && ready), .alpha(alphas[update_prio*49+:49]), .unscheduled_alpha, .gamma, .n,
        .busy, .done, .weight, .unscheduled_weight
    );
    assign ready = !busy && !done;
    always_ff @(posedge clk) if (update && ready) target <= {update_port, update_prio};

    if (SHIFTS != 0) begin : by_shift
        logic [5:0] distance, unscheduled_distance, chosen;
        nearest_power plain (.weight(weight), .distance(distance));
        nearest_power favoured (.weight(unscheduled_weight), .distance(unscheduled_distance));
        logic [11:0] distances[2**ADDRESS_W];
        logic [11:0] both;
        always_ff @(posedge clk) if (done) distances[target] <= {unscheduled_distance, distance};
        assign both      = distances[{port, prio}];
        assign chosen    = unscheduled ? both[11:6] : both[5:0];
        assign threshold = {free, 17'b0} >> chosen;
    end else begin : by_multiplier
        logic [97:0] weights[2**ADDRESS_W];
        logic [97:0] both;
        logic [48:0] chosen;
        logic [W+48:0] product;
        always_ff @(posedge clk) if (done) weights[target] <= {unscheduled_weight, weight};
        assign both      = weights[{port, prio}];
        assign chosen    = unscheduled ? both[97:49] : both[48:0];
        assign product   = chosen * free;
        assign threshold = product[W+48:32];
        // Bits below a byte are cut off.
        logic unused;
        assign unused = &{1'b0, product[31:0]};
    end
endmodule
