// Dynamic Thresholds: a queue may grow while it is shorter than alpha times the free space.
//
// Stores a packet iff Q + size <= B and q + size <= alpha_p (B - Q), with Q and q before the
// packet. Reference: the policy `dt`. Source: Choudhury and Hahne, ToN 1998; ABM Eq. 5, Plasticine
// Eq. 1, TDT Eq. 1.
//
// Latency: 2 clocks (input registers, decision with update). Rate: one operation per clock, an
// arrival or a departure. Rounding: alpha is a power of two (alpha_shift); thresholds are rounded
// down to a byte. Widths: W bits for bytes, SIZE_W for a packet.
module dt_unit #(
    parameter int PORTS  = 8,
    parameter int QUEUES = 1,
    parameter int W      = 26,
    parameter int SIZE_W = 14,
    parameter int PORT_W = PORTS > 1 ? $clog2(PORTS) : 1,
    parameter int PRIO_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                clk,
    input  logic                rst,
    output logic                ready,
    // Configuration, stable while packets arrive.
    input  logic [W-1:0]        capacity,
    input  logic [QUEUES*6-1:0] distances,    // of alpha_shift, by priority
    // An operation.
    input  logic                arrive,
    input  logic                depart,
    input  logic [PORT_W-1:0]   port,
    input  logic [PRIO_W-1:0]   prio,
    input  logic [SIZE_W-1:0]   size,
    // Answer of the operation: 0 stored, 1 buffer full, 2 over the threshold.
    output logic                answered,     // 2 clocks after the operation
    output logic [1:0]          answer,
    // State on which the answer is based.
    output logic [W+15:0]       threshold,
    output logic [W-1:0]        queue_bytes,
    output logic [W-1:0]        pool_bytes
);
    localparam int SUM_W = (W > SIZE_W ? W : SIZE_W) + 1;

    logic              is_arrival, is_departure;
    logic [PORT_W-1:0] at_port;
    logic [PRIO_W-1:0] at_prio;
    logic [SIZE_W-1:0] bytes;

    always_ff @(posedge clk) begin
        if (rst) {is_arrival, is_departure} <= '0;
        else {is_arrival, is_departure} <= {arrive, depart};
        at_port <= port;
        at_prio <= prio;
        bytes   <= size;
    end

    logic [W-1:0]     queue_now, port_now, pool_now, free;
    logic [W+15:0]    limit;
    logic [SUM_W-1:0] queue_then, pool_then;
    logic             fits, allowed;

    assign free       = capacity - pool_now;
    assign queue_then = SUM_W'(queue_now) + SUM_W'(bytes);
    assign pool_then  = SUM_W'(pool_now) + SUM_W'(bytes);
    assign fits       = pool_then <= SUM_W'(capacity);
    assign allowed     = (W+16)'(queue_then) <= limit;

    alpha_shift #(.W(W)) alpha (.free(free), .distance(distances[at_prio*6+:6]), .threshold(limit));

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

`ifdef FORMAL
    `include "dt_unit.properties"
`endif
endmodule
