// Plasticine in a PISA pipeline, with the registers that each stage may access. SYNC packets carry
// lengths back to the ingress.
//
// Every item in the pipeline is a packet: an arrival, a departure, or a SYNC packet. A stage owns
// its register arrays, and a passing packet accesses one entry of each array once. Stages:
//
//     1 N_Priority, N_Port, Remaining   3 shift, T         5 traffic manager (fixed): end of memory
//     2 Shift table                     4 Qlength, T > q   6 egress: lengths at departures
//
// A SYNC packet reads the egress array in stage 6 and returns to stage 1 with its counts in the
// header. It writes in this second pass. So a copy takes two passes, and each copies one entry.
// Thresholds are within a factor of the square root of two of Plasticine's, and lag by a round of
// the SYNC packets. Source: Plasticine, section 5 and Figure 7; reference: the policy
// `plasticine-pisa`.
//
// Latency: 6 clocks from `arrive` to `answered`. Rate: one packet per clock. Rounding: in the
// entries of the Shift table, which the control plane writes.
module plasticine_pisa #(
    parameter int PORTS   = 8,
    parameter int QUEUES  = 2,
    parameter int W       = 26,
    parameter int SIZE_W  = 14,
    parameter int COUNTED = 64,  // most congested queues in the Shift table
    parameter int PORT_W  = PORTS > 1 ? $clog2(PORTS) : 1,
    parameter int PRIO_W  = QUEUES > 1 ? $clog2(QUEUES) : 1,
    parameter int COUNT_W = $clog2(PORTS * QUEUES + 1),
    parameter int N_W     = $clog2(COUNTED + 1),
    parameter int M_W     = $clog2(QUEUES + 1)
) (
    input  logic               clk,
    input  logic               rst,
    output logic               ready,
    // Configuration, stable while packets arrive.
    input  logic [W-1:0]       capacity,
    input  logic [PORT_W-1:0]  last_port,
    input  logic [PRIO_W-1:0]  last_prio,
    input  logic [PRIO_W:0]    high_prios,      // groups of one priority; the rest is one group
    input  logic [N_W-1:0]     most_counted,    // larger counts of congested queues use this entry
    input  logic [W-1:0]       congested_above,
    input  logic [W-1:0]       active_above,
    input  logic               by_enqueue,      // use the length at arrival, not at departure
    input  logic               zero_when_empty,
    input  logic               table_write,
    input  logic [PRIO_W+N_W+M_W-1:0] table_index,
    input  logic signed [7:0]  table_shift,
    // Packet input: at most one of the three per clock.
    input  logic               arrive,
    input  logic               depart,
    input  logic               sync,            // start the next step of a round of SYNC packets
    input  logic [PORT_W-1:0]  port,
    input  logic [PRIO_W-1:0]  prio,
    input  logic [SIZE_W-1:0]  size,
    input  logic [W-1:0]       met,             // departures: bytes in the queue when the packet was stored
    input  logic [W-1:0]       left,            // departures: bytes in the queue now
    output logic               sync_done,       // the step has written its copies
    // Answer to an arrival: 0 stored, 1 buffer full, 2 over the threshold.
    output logic               answered,
    output logic [1:0]         answer,
    output logic [W:0]         threshold,       // all ones: above every length
    output logic [W-1:0]       length,          // length that the ingress pipeline compared
    output logic [W-1:0]       remaining,
    output logic [COUNT_W-1:0] congested,
    output logic [M_W-1:0]     active
);
    localparam int QUEUE_W = PORT_W + PRIO_W;
    typedef enum logic [1:0] {LENGTH, PORT, PRIORITY} kind_t;

    // Contents of a pipeline slot: a packet's metadata, and the header of a SYNC packet.
    typedef struct packed {
        logic               arrives;
        logic               departs;
        logic               reads;     // SYNC on its way to egress
        logic               writes;    // SYNC with a copy to write
        kind_t              kind;
        logic [QUEUE_W-1:0] entry;
        logic [SIZE_W-1:0]  size;
        logic [W-1:0]       met;
        logic [W-1:0]       left;
        logic               last;      // SYNC: last entry of its array, port or group
        logic [W-1:0]       value;     // SYNC: the length that was read
        logic [W-1:0]       free;      // SYNC: buffer minus the sum of lengths
        logic [COUNT_W-1:0] count;     // SYNC: the queues that were counted
    } slot_t;

    slot_t p1, p2, p3, p4, p5, p6;     // the packets in the stages

    // The three SYNC packets: next entry to read, and the contents of their headers.
    logic [QUEUE_W-1:0] length_at, port_at, priority_at;
    logic [W+COUNT_W-1:0] sum;
    logic [COUNT_W-1:0] port_count, priority_count;
    logic [1:0]         launch;        // the SYNC packet that enters next
    logic               launching, back_valid;
    slot_t              back;          // SYNC packet returning from egress

    function automatic logic [QUEUE_W-1:0] after(input logic [QUEUE_W-1:0] entry);
        after = entry[PRIO_W-1:0] != last_prio ? {entry[QUEUE_W-1:PRIO_W], entry[PRIO_W-1:0] + 1'b1}
              : entry[QUEUE_W-1:PRIO_W] != last_port ? {entry[QUEUE_W-1:PRIO_W] + 1'b1, PRIO_W'(0)} : '0;
    endfunction
    function automatic logic [PRIO_W-1:0] group_of(input logic [PRIO_W-1:0] priority_);
        group_of = {1'b0, priority_} < high_prios ? priority_ : high_prios[PRIO_W-1:0];
    endfunction

    // Order of the groups: a high priority over all ports; the low priorities port by port.
    logic [PORT_W-1:0] pa_port;
    logic [PRIO_W-1:0] pa_prio;
    logic              pa_low, pa_ends;
    logic [QUEUE_W-1:0] pa_next;
    assign {pa_port, pa_prio} = priority_at;
    assign pa_low  = {1'b0, pa_prio} >= high_prios;
    assign pa_ends = pa_port == last_port && (!pa_low || pa_prio == last_prio);
    always_comb begin
        if (!pa_low && pa_port != last_port) pa_next = {pa_port + 1'b1, pa_prio};
        else if (!pa_low) pa_next = pa_prio == last_prio ? '0 : {PORT_W'(0), pa_prio + 1'b1};
        else if (pa_prio != last_prio) pa_next = {pa_port, pa_prio + 1'b1};
        else pa_next = pa_port == last_port ? '0 : {pa_port + 1'b1, high_prios[PRIO_W-1:0]};
    end

    // Input of the pipeline: a packet, a returning SYNC packet, or a new SYNC packet.
    slot_t entering;
    always_comb begin
        entering         = '0;
        entering.arrives = arrive && ready;
        entering.departs = depart && ready;
        entering.entry   = {port, prio};
        entering.size    = size;
        entering.met     = met;
        entering.left    = left;
        if (back_valid) begin
            entering = back;
        end else if (launching) begin
            entering.arrives = 1'b0;
            entering.departs = 1'b0;
            entering.reads   = 1'b1;
            case (launch)
                2'd0: begin
                    entering.kind  = LENGTH;
                    entering.entry = length_at;
                    entering.last  = after(length_at) == '0;
                end
                2'd1: begin
                    entering.kind  = PORT;
                    entering.entry = port_at;
                    entering.last  = port_at[PRIO_W-1:0] == last_prio;
                end
                default: begin
                    entering.kind  = PRIORITY;
                    entering.entry = priority_at;
                    entering.last  = pa_ends;
                end
            endcase
        end
    end

    // Stage 1: N_Priority, N_Port, Remaining.
    logic [COUNT_W-1:0] n_priority[2**PRIO_W];
    logic [M_W-1:0]     n_port[2**PORT_W];
    logic [W-1:0]       remaining_register;
    logic [PRIO_W-1:0]  group1;
    logic [COUNT_W-1:0] congested1, congested2, congested3, congested4, congested5;
    logic [M_W-1:0]     active1, active2, active3, active4, active5;
    logic [W-1:0]       remaining1, remaining2, remaining3, remaining4, remaining5;
    assign group1     = group_of(p1.entry[PRIO_W-1:0]);
    assign congested1 = n_priority[group1];
    assign active1    = n_port[p1.entry[QUEUE_W-1:PRIO_W]];
    assign remaining1 = remaining_register;

    // Stage 3: the shift. A threshold beyond W bits is above every length.
    logic signed [7:0] shifts[2**(PRIO_W+N_W+M_W)];
    logic signed [7:0] shift2, shift3;
    logic [N_W-1:0]    counted2;
    assign counted2 = congested2 > COUNT_W'(most_counted) ? most_counted : N_W'(congested2);
    assign shift2   = shifts[{p2.entry[PRIO_W-1:0], counted2, active2}];
    always_ff @(posedge clk) if (table_write) shifts[table_index] <= table_shift;

    // Stage 4: Qlength, and the comparison of threshold and length.
    logic [W:0]     limit3, limit4, limit5;
    logic [2*W-1:0] raised;
    logic [7:0]     lift;
    assign lift   = 8'(-shift3);
    assign raised = {W'(0), remaining3} << (lift > 8'(W) ? 8'(W) : lift);
    always_comb begin
        if (!shift3[7]) limit3 = {1'b0, remaining3 >> shift3[6:0]};
        else limit3 = raised[2*W-1:W] != '0 ? '1 : {1'b0, raised[W-1:0]};
    end

    // Stage 6: departing packets write, and SYNC packets read.
    logic [W-1:0] lengths[2**QUEUE_W];
    logic [W-1:0] length4, length5;
    logic         allowed5;
    assign length4 = lengths[p4.entry];

    // Arrays are cleared after a reset.
    logic [W-1:0] pool;
    logic         fits;
    localparam int SUM_W = (W > SIZE_W ? W : SIZE_W) + 1;
    assign fits = SUM_W'(pool) + SUM_W'(p5.size) <= SUM_W'(capacity);

    // The pipeline registers.
    logic [W-1:0] egress[2**QUEUE_W];
    logic [W-1:0] seen, noted;
    assign seen  = egress[p6.entry];
    assign noted = p6.left == '0 && zero_when_empty ? '0 : by_enqueue ? p6.met : p6.left;

    // Clearing after a reset.
    logic [QUEUE_W:0] cleared;
    logic clearing;
    assign clearing = !cleared[QUEUE_W];
    assign ready    = !clearing;

    always_ff @(posedge clk) begin
        if (rst) cleared <= '0;
        else if (clearing) cleared <= cleared + 1'b1;

        // The pipeline. Only the marks of a packet need a reset.
        p1 <= rst ? '0 : entering;
        p2 <= rst ? '0 : p1;
        p3 <= rst ? '0 : p2;
        p4 <= rst ? '0 : p3;
        p5 <= rst ? '0 : p4;
        p6 <= rst ? '0 : p5;
        {congested2, active2, remaining2} <= {congested1, active1, remaining1};
        {congested3, active3, remaining3, shift3} <= {congested2, active2, remaining2, shift2};
        {congested4, active4, remaining4, limit4} <= {congested3, active3, remaining3, limit3};
        {congested5, active5, remaining5, limit5} <= {congested4, active4, remaining4, limit4};
        length5  <= length4;
        allowed5 <= limit4 > {1'b0, length4};
    end

    // SYNC packets: leave for egress, read in stage 6, count in the header, return.
    always_ff @(posedge clk) begin
        if (clearing || (p1.writes && p1.kind == PRIORITY && p1.last))
            n_priority[clearing ? cleared[PRIO_W-1:0] : group1] <= clearing ? '0 : p1.count;
        if (clearing || (p1.writes && p1.kind == PORT && p1.last))
            n_port[clearing ? cleared[QUEUE_W-1:PRIO_W] : p1.entry[QUEUE_W-1:PRIO_W]] <= clearing ? '0 : M_W'(p1.count);
        if (clearing) remaining_register <= capacity;
        else if (p1.writes && p1.kind == LENGTH && p1.last) remaining_register <= p1.free;
        if (clearing || (p4.writes && p4.kind == LENGTH))
            lengths[clearing ? cleared[QUEUE_W-1:0] : p4.entry] <= clearing ? '0 : p4.value;
        if (clearing || p6.departs) egress[clearing ? cleared[QUEUE_W-1:0] : p6.entry] <= clearing ? '0 : noted;
        if (rst) pool <= '0;
        else if (p5.departs) pool <= pool - W'(p5.size);
        else if (p5.arrives && fits && allowed5) pool <= pool + W'(p5.size);
        answered  <= !rst && p5.arrives;
        answer    <= !fits ? 2'd1 : !allowed5 ? 2'd2 : 2'd0;
        threshold <= limit5;
        length    <= length5;
        remaining <= remaining5;
        congested <= congested5;
        active    <= active5;
    end

    // Copies of different ages may sum to more than the buffer.
    logic [COUNT_W-1:0]   counted_port, counted_priority;
    logic [W+COUNT_W-1:0] total;
    assign total            = sum + (W+COUNT_W)'(seen);
    assign counted_port     = port_count + COUNT_W'(seen > active_above);
    assign counted_priority = priority_count + COUNT_W'(seen > congested_above);
    always_ff @(posedge clk) begin
        back_valid <= !rst && p6.reads;
        back        <= p6;
        back.reads  <= 1'b0;
        back.writes <= 1'b1;
        back.value  <= seen;
        back.count  <= p6.kind == PORT ? counted_port : counted_priority;
        // Copies of different ages may sum up to more than the buffer.
        back.free   <= total > (W+COUNT_W)'(capacity) ? '0 : capacity - W'(total);
        sync_done   <= !rst && p4.writes && p4.kind == PRIORITY;
        if (rst) begin
            {length_at, port_at, priority_at} <= '0;
            {sum, port_count, priority_count} <= '0;
            launching <= 1'b0;
            launch    <= 2'd0;
        end else begin
            if (sync) begin
                launching <= 1'b1;
                launch    <= 2'd0;
            end else if (launching && !back_valid) begin
                launch    <= launch + 2'd1;
                launching <= launch != 2'd2;
            end
            if (p6.reads) case (p6.kind)
                LENGTH: begin
                    sum       <= p6.last ? '0 : total;
                    length_at <= after(length_at);
                end
                PORT: begin
                    port_count <= p6.last ? '0 : counted_port;
                    port_at    <= after(port_at);
                end
                default: begin
                    priority_count <= p6.last ? '0 : counted_priority;
                    priority_at    <= pa_next;
                end
            endcase
        end
    end

`ifdef FORMAL
    `include "plasticine_pisa.properties"
`endif
endmodule
