// Traffic-aware Dynamic Thresholds: the limit of a port follows its state.
//
// Stores a packet iff Q + size <= B and the port's queues together stay within its limit. The limit
// is alpha (B - Q) in the normal state, B / n_A in absorption (n_A: number of absorbing ports) and
// B / n in evacuation. Each port has a state decision module (tdt_state); all share one table of
// quotients. Reference: the policy `tdt`. Source: Huang, Wang, Cui, ToN 2022, section V.
//
// B / k is read from a table with one entry per number of ports, which the control plane writes: a
// divider would be the largest part. Latency: 2 clocks. Rate: one operation per clock. Rounding:
// alpha is a power of two; thresholds are rounded down to a byte.
module tdt_unit #(
    parameter int PORTS  = 8,
    parameter int QUEUES = 1,
    parameter int W      = 26,
    parameter int SIZE_W = 14,
    parameter int CNT_W  = 16,
    parameter int PORT_W = PORTS > 1 ? $clog2(PORTS) : 1,
    parameter int PRIO_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic              clk,
    input  logic              rst,
    output logic              ready,
    // Configuration, stable while packets arrive.
    input  logic [W-1:0]      capacity,
    input  logic [5:0]        distance,       // of alpha (alpha_shift)
    input  logic [W-1:0]      even_share,     // B / n
    input  logic [W-1:0]      lower_bound,
    input  logic [CNT_W-1:0]  nec_limit,
    input  logic [CNT_W-1:0]  oc1_limit,
    input  logic [CNT_W-1:0]  oc2_limit,
    input  logic [CNT_W-1:0]  dec_limit,
    input  logic [CNT_W-1:0]  dc_limit,
    input  logic [2:0]        mode,           // literal DEC, any drop ends absorption, keep the drop count
    input  logic              quotient_write,
    input  logic [PORT_W:0]   quotient_index, // k
    input  logic [W-1:0]      quotient,       // B / k
    // An operation.
    input  logic              arrive,
    input  logic              depart,
    input  logic [PORT_W-1:0] port,
    input  logic [PRIO_W-1:0] prio,
    input  logic [SIZE_W-1:0] size,
    // Answer of the operation: 0 stored, 1 buffer full, 2 over the port's limit.
    output logic              answered,
    output logic [1:0]        answer,
    // State on which the answer is based, and the new state of the port's module.
    output logic [W+15:0]     port_limit,
    output logic [W-1:0]      queue_bytes,
    output logic [W-1:0]      port_bytes,
    output logic [W-1:0]      pool_bytes,
    output logic [1:0]        state,
    output logic [PORT_W:0]   absorbing,
    output logic [5*CNT_W-1:0] counters       // DC, DEC, OC2, OC1, NEC
);
    localparam int SUM_W = (W > SIZE_W ? W : SIZE_W) + 1;
    localparam logic [1:0] NORMAL = 2'd0, ABSORPTION = 2'd1;

    logic              is_arrival, is_departure;
    logic [PORT_W-1:0] at_port, last_port;
    logic [PRIO_W-1:0] at_prio;
    logic [SIZE_W-1:0] bytes;

    always_ff @(posedge clk) begin
        if (rst) {is_arrival, is_departure} <= '0;
        else {is_arrival, is_departure} <= {arrive, depart};
        at_port   <= port;
        at_prio   <= prio;
        bytes     <= size;
        last_port <= at_port;
    end

    // State modules of all ports; only the module of the operation's port receives the event.
    logic [PORTS*2-1:0]       states, next_states;
    logic [PORTS*5*CNT_W-1:0] counts;
    logic                     stored, dropped, overflow, below;

    for (genvar i = 0; i < PORTS; i++) begin : modules
        tdt_state #(.CNT_W(CNT_W)) decision (
            .clk, .rst,
            .enqueue(stored && at_port == PORT_W'(i)),
            .dequeue(is_departure && at_port == PORT_W'(i)),
            .drop(dropped && at_port == PORT_W'(i)),
            .overflow, .below,
            .nec_limit, .oc1_limit, .oc2_limit, .dec_limit, .dc_limit,
            .literal_dec(mode[0]), .any_drop_ends_absorption(mode[1]), .keep_drop_count(mode[2]),
            .state(states[i*2+:2]), .next_state(next_states[i*2+:2]),
            .nec(counts[(i*5+0)*CNT_W+:CNT_W]), .oc1(counts[(i*5+1)*CNT_W+:CNT_W]),
            .oc2(counts[(i*5+2)*CNT_W+:CNT_W]), .dec(counts[(i*5+3)*CNT_W+:CNT_W]),
            .dc(counts[(i*5+4)*CNT_W+:CNT_W])
        );
    end

    logic [1:0] state_now, state_then;
    assign state_now  = states[at_port*2+:2];
    assign state_then = next_states[at_port*2+:2];

    // n_A, and the share of each absorbing port.
    logic [W-1:0] quotients[2**(PORT_W+1)];
    logic [W-1:0] share;
    logic         enters, leaves;
    assign enters = (is_arrival || is_departure) && state_then == ABSORPTION && state_now != ABSORPTION;
    assign leaves = (is_arrival || is_departure) && state_then != ABSORPTION && state_now == ABSORPTION;
    assign share  = quotients[absorbing];
    always_ff @(posedge clk) if (quotient_write) quotients[quotient_index] <= quotient;
    always_ff @(posedge clk) begin
        if (rst) absorbing <= '0;
        else absorbing <= absorbing + (PORT_W+1)'(enters) - (PORT_W+1)'(leaves);
    end

    logic [W-1:0]     queue_now, port_now, pool_now;
    logic [W+15:0]    usual, limit;
    logic [SUM_W-1:0] port_then, pool_then;
    logic             fits, allowed;
    alpha_shift #(.W(W)) alpha (.free(capacity - pool_now), .distance(distance), .threshold(usual));
    assign limit     = state_now == NORMAL ? usual : {16'b0, state_now == ABSORPTION ? share : even_share};
    assign port_then = SUM_W'(port_now) + SUM_W'(bytes);
    assign pool_then = SUM_W'(pool_now) + SUM_W'(bytes);
    assign fits      = pool_then <= SUM_W'(capacity);
    assign allowed   = (W+16)'(port_then) <= limit;
    assign stored    = is_arrival && fits && allowed;
    assign dropped   = is_arrival && !(fits && allowed);
    assign overflow  = !fits;
    assign below     = (is_departure ? port_now - W'(bytes) : port_now) < lower_bound;

    ledger #(.PORTS(PORTS), .QUEUES(QUEUES), .W(W)) held (
        .clk, .rst, .ready,
        .port(at_port), .prio(at_prio), .size(W'(bytes)), .store(stored), .remove(is_departure),
        .queue_bytes(queue_now), .port_bytes(port_now), .pool_bytes(pool_now)
    );

    always_ff @(posedge clk) begin
        if (rst) answered <= 1'b0;
        else answered <= is_arrival || is_departure;
        answer      <= !is_arrival ? 2'd0 : !fits ? 2'd1 : !allowed ? 2'd2 : 2'd0;
        port_limit  <= limit;
        queue_bytes <= queue_now;
        port_bytes  <= port_now;
        pool_bytes  <= pool_now;
    end
    assign state    = states[last_port*2+:2];
    assign counters = counts[last_port*5*CNT_W+:5*CNT_W];
endmodule
