// Active Buffer Management: Dynamic Thresholds divided by the number of congested queues and scaled
// by the drain rate.
//
// Stores a packet iff Q + size <= B and q + size <= alpha gamma / n (B - Q). The factors come from
// abm_threshold, one port and priority at a time; packets are handled meanwhile. Reference: the
// policy `abm` without headroom (SHIFTS = 0); with SHIFTS = 1 factors are powers of two. Source:
// ABM, SIGCOMM 2022, Eq. 9, 12 and 13.
//
// Latency: 2 clocks. Rate: one operation per clock. Rounding: thresholds down to a byte; factors as
// in abm_weight and nearest_power.
module abm_unit #(
    parameter int SHIFTS = 0,
    parameter int PORTS  = 8,
    parameter int QUEUES = 1,
    parameter int W      = 26,
    parameter int SIZE_W = 14,
    parameter int N_W    = 43,
    parameter int PORT_W = PORTS > 1 ? $clog2(PORTS) : 1,
    parameter int PRIO_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                 clk,
    input  logic                 rst,
    output logic                 ready,
    input  logic [W-1:0]         capacity,
    input  logic [QUEUES*49-1:0] alphas,
    input  logic [48:0]          unscheduled_alpha,
    output logic                 update_ready,
    input  logic                 update,
    input  logic [PORT_W-1:0]    update_port,
    input  logic [PRIO_W-1:0]    update_prio,
    input  logic [32:0]          gamma,
    input  logic [N_W-1:0]       n,
    // An operation.
    input  logic                 arrive,
    input  logic                 depart,
    input  logic [PORT_W-1:0]    port,
    input  logic [PRIO_W-1:0]    prio,
    input  logic                 unscheduled,
    input  logic [SIZE_W-1:0]    size,
    // Answer of the operation: 0 stored, 1 buffer full, 2 over the threshold.
    output logic                 answered,
    output logic [1:0]           answer,
    output logic [W+16:0]        threshold,
    output logic [W-1:0]         queue_bytes,
    output logic [W-1:0]         pool_bytes
);
    localparam int SUM_W = (W > SIZE_W ? W : SIZE_W) + 1;

    logic              is_arrival, is_departure, is_unscheduled;
    logic [PORT_W-1:0] at_port;
    logic [PRIO_W-1:0] at_prio;
    logic [SIZE_W-1:0] bytes;

    always_ff @(posedge clk) begin
        if (rst) {is_arrival, is_departure} <= '0;
        else {is_arrival, is_departure} <= {arrive, depart};
        is_unscheduled <= unscheduled;
        at_port <= port;
        at_prio <= prio;
        bytes   <= size;
    end

    logic [W-1:0]     queue_now, port_now, pool_now;
    logic [W+16:0]    limit;
    logic [SUM_W-1:0] queue_then, pool_then;
    logic             fits, allowed;

    abm_threshold #(.SHIFTS(SHIFTS), .PORTS(PORTS), .QUEUES(QUEUES), .W(W), .N_W(N_W)) thresholds (
        .clk, .rst, .ready(update_ready), .alphas, .unscheduled_alpha, .update, .update_port, .update_prio, .gamma, .n,
        .port(at_port), .prio(at_prio), .unscheduled(is_unscheduled), .free(capacity - pool_now), .threshold(limit)
    );
    assign queue_then = SUM_W'(queue_now) + SUM_W'(bytes);
    assign pool_then  = SUM_W'(pool_now) + SUM_W'(bytes);
    assign fits       = pool_then <= SUM_W'(capacity);
    assign allowed    = (W+17)'(queue_then) <= limit;

    ledger #(.PORTS(PORTS), .QUEUES(QUEUES), .W(W)) held (
        .clk, .rst, .ready,
        .port(at_port), .prio(at_prio), .size(W'(bytes)),
        .store(is_arrival && fits && allowed), .remove(is_departure),
        .queue_bytes(queue_now), .port_bytes(port_now), .pool_bytes(pool_now)
    );

    always_ff @(posedge clk) begin
        if (rst) answered <= 1'b0;
        else answered <= is_arrival || is_departure;
        answer      <= is_departure ? 2'd0 : !fits ? 2'd1 : !allowed ? 2'd2 : 2'd0;
        threshold   <= limit;
        queue_bytes <= queue_now;
        pool_bytes  <= pool_now;
    end

    // The ledger also counts ports, for schemes that limit them; unused here.
    logic unused;
    assign unused = &{1'b0, port_now};
endmodule
