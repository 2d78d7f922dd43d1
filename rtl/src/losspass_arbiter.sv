// LossPass's arbiter: a packet of a small flow replaces the newest packet of its port's large-flow
// queue.
//
// Algorithm 1 with the errata E-LP-1 to E-LP-3, in the five clocks of section 4.1, one packet at a
// time:
//
//     1 look up the queue and its class      3 test the conditions of lines 2 to 4 in parallel
//     2 read its metadata                    4 free the victim      5 link the arriving packet
//
// The arbiter stores the byte counts of queues and ports. The packets are in the queue manager,
// which shows the tail of the port's large-flow queue in clock 2. It needs a doubly linked list: in
// a singly linked one the packet before the tail would have to be searched. At most one eviction
// per arrival. Reference: the policy `losspass` with victims from the tail.
//
// Latency: 5 clocks; the next operation may start in the fifth (`ready`). Rounding: alpha is a
// power of two (alpha_shift).
module losspass_arbiter #(
    parameter int PORTS  = 8,
    parameter int QUEUES = 2,
    parameter int W      = 26,
    parameter int SIZE_W = 14,
    parameter int PORT_W = PORTS > 1 ? $clog2(PORTS) : 1,
    parameter int PRIO_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic              clk,
    input  logic              rst,
    output logic              ready,
    // Configuration, stable while packets arrive.
    input  logic [W-1:0]      capacity,
    input  logic              is_static,       // the port buffer is `port_buffer`, not alpha (B - Q)
    input  logic [W-1:0]      port_buffer,
    input  logic [5:0]        distance,        // of alpha (alpha_shift)
    input  logic [W-1:0]      large_reserve,   // B_l
    input  logic              hard_reserve,    // applies to small flows even while there is room
    input  logic              by_tag,          // the tag, not the queue, makes a packet small
    input  logic              printed_line_4,  // >= in place of <= (erratum E-LP-1)
    input  logic              has_classes,     // the port has more than one queue
    input  logic [PRIO_W-1:0] small_prio,
    input  logic [PRIO_W-1:0] large_prio,
    // Operation, accepted when `ready` is set.
    input  logic              arrive,
    input  logic              depart,
    input  logic [PORT_W-1:0] port,
    input  logic [PRIO_W-1:0] prio,
    input  logic              tagged_small,
    input  logic [SIZE_W-1:0] size,
    // The tail of the port's large-flow queue, from clock 2 to 4.
    input  logic              tail_valid,
    input  logic [SIZE_W-1:0] tail_size,
    input  logic              tail_small,      // it has the tag
    output logic              free_tail,       // the queue manager removes it (clock 4)
    // Answer: 0 stored, 1 buffer full, 2 over a limit, 3 stored after evicting another packet.
    output logic              answered,
    output logic [1:0]        answer,
    output logic              missed_chance,   // the victim was too small
    output logic              kept_reserve,    // refused because of B_l
    output logic [W+15:0]     port_limit,
    output logic [W-1:0]      port_bytes,      // before the operation
    output logic [W-1:0]      pool_bytes
);
    localparam int SUM_W = (W > SIZE_W ? W : SIZE_W) + 1;
    localparam int LIMIT_W = W + 16;
    typedef enum logic [2:0] {IDLE, CLASSIFY, READ, COMPARE, FREE, LINK} stage_t;

    stage_t             stage;
    logic              arrives, has_tag, is_small, is_large;
    logic [PORT_W-1:0] at_port;
    logic [PRIO_W-1:0] at_prio;
    logic [SIZE_W-1:0] bytes;

    // Clock 1 determines the class, clock 2 reads the byte counts.
    logic [W-1:0]       in_port, in_large, in_pool, space;
    logic [LIMIT_W-1:0] limit, dynamic_limit;
    logic [W-1:0]       now_in_port, now_in_large, now_in_pool;

    // Clock 3 evaluates every condition from the registers of clock 2.
    logic [SUM_W-1:0]   pool_then, port_then, small_then;
    logic [LIMIT_W-1:0] for_small;
    logic               fits, in_limit, no_reserve, has_victim, enough, line_4;
    assign pool_then  = SUM_W'(in_pool) + SUM_W'(bytes);
    assign port_then  = SUM_W'(in_port) + SUM_W'(bytes);
    assign small_then = SUM_W'(in_port) - SUM_W'(in_large) + SUM_W'(bytes);
    assign for_small  = limit > LIMIT_W'(large_reserve) ? limit - LIMIT_W'(large_reserve) : '0;
    assign fits       = pool_then <= SUM_W'(capacity);
    assign in_limit   = LIMIT_W'(port_then) <= limit;
    assign no_reserve = is_small && hard_reserve && LIMIT_W'(small_then) > for_small;
    assign has_victim = is_small && tail_valid && !(by_tag && tail_small);
    assign enough     = bytes <= tail_size;
    assign line_4     = printed_line_4 ? LIMIT_W'(small_then) >= for_small : LIMIT_W'(small_then) <= for_small;

    // Decision, executed in clocks 4 and 5.
    logic evicts, stores;
    logic [W-1:0] victim_size;

    assign ready     = cleared[PORT_W] && (stage == IDLE || stage == LINK);
    assign free_tail = stage == FREE && evicts;
    assign dynamic_limit = is_static ? {16'b0, port_buffer} : shifted;

    logic [LIMIT_W-1:0] shifted;
    alpha_shift #(.W(W)) alpha (.free(space), .distance(distance), .threshold(shifted));
    assign space = capacity - now_in_pool;

    always_ff @(posedge clk) begin
        answered <= 1'b0;
        if (rst) stage <= IDLE;
        else case (stage)
            CLASSIFY: stage <= READ;
            READ:     stage <= COMPARE;
            COMPARE:  stage <= FREE;
            FREE:     stage <= LINK;
            default:  stage <= (arrive || depart) && ready ? CLASSIFY : IDLE;
        endcase
        if ((arrive || depart) && ready) begin
            arrives <= arrive;
            has_tag  <= tagged_small;
            at_port <= port;
            at_prio <= prio;
            bytes   <= size;
        end
        if (stage == CLASSIFY) begin
            is_small <= has_classes && arrives && (by_tag ? at_prio != large_prio && has_tag : at_prio == small_prio);
            is_large <= has_classes && at_prio == large_prio;
        end
        if (stage == READ) begin
            in_port  <= now_in_port;
            in_large <= now_in_large;
            in_pool  <= now_in_pool;
            limit    <= dynamic_limit;
        end
        if (stage == COMPARE) begin
            evicts        <= arrives && !no_reserve && !(fits && in_limit) && has_victim && enough && line_4;
            stores        <= arrives && !no_reserve && fits && in_limit;
            missed_chance <= arrives && !no_reserve && !(fits && in_limit) && has_victim && !enough;
            kept_reserve  <= arrives && (no_reserve || (!(fits && in_limit) && has_victim && enough && !line_4));
            answer        <= !arrives ? 2'd0 : no_reserve ? 2'd2 : fits && in_limit ? 2'd0
                           : has_victim && enough && line_4 ? 2'd3 : fits ? 2'd2 : 2'd1;
            victim_size   <= W'(tail_size);
            port_limit    <= limit;
            port_bytes    <= in_port;
            pool_bytes    <= in_pool;
        end
        if (stage == FREE) answered <= !rst;
    end

    // Byte counts of ports, of their large-flow queues and of the pool. The victim leaves in clock
    // 4; the packet joins or leaves in clock 5.
    logic [W-1:0]    ports[2**PORT_W], larges[2**PORT_W];
    logic [PORT_W:0] cleared;
    logic            writes;
    logic [W-1:0]    joining, change;
    assign joining  = W'(bytes);
    logic            of_large;
    logic [PORT_W-1:0] address;
    assign now_in_port  = ports[at_port];
    assign now_in_large = larges[at_port];
    assign writes   = free_tail || (stage == LINK && (!arrives || stores || evicts));
    assign change   = stage == FREE ? -victim_size : arrives ? joining : -joining;
    assign of_large = stage == FREE || is_large;
    assign address  = cleared[PORT_W] ? at_port : cleared[PORT_W-1:0];
    always_ff @(posedge clk) begin
        if (!cleared[PORT_W] || writes) ports[address] <= cleared[PORT_W] ? now_in_port + change : '0;
        if (!cleared[PORT_W] || (writes && of_large)) larges[address] <= cleared[PORT_W] ? now_in_large + change : '0;
        if (rst) cleared <= '0;
        else if (!cleared[PORT_W]) cleared <= cleared + 1'b1;
        if (rst) now_in_pool <= '0;
        else if (writes) now_in_pool <= now_in_pool + change;
    end

`ifdef FORMAL
    `include "losspass_arbiter.properties"
`endif
endmodule
