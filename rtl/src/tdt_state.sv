// TDT's state decision module of one port: normal, absorption or evacuation, from the packets that
// the port stores, sends and drops.
//
// Figure 5 of TDT (Huang, Wang, Cui, ToN 2022, section V-B): the counters NEC, OC1, OC2, DEC and
// DC, their triggers, and the comparator with the lower bound. No timer. At most one of `enqueue`,
// `dequeue` and `drop` per clock.
//
// DEC follows erratum E-TDT-1: a dropped arrival also ends a row of departures. `literal_dec`
// restores the printed rule. Reference: the policy `tdt`. Latency: 1 clock. Counters have CNT_W
// bits; DEC saturates at its largest value, which no limit reaches.
module tdt_state #(
    parameter int CNT_W = 16
) (
    input  logic             clk,
    input  logic             rst,
    // Event at the port.
    input  logic             enqueue,
    input  logic             dequeue,
    input  logic             drop,
    input  logic             overflow,        // the buffer was full
    input  logic             below,           // port bytes are below the lower bound, after a departure
    // Limits (packets), 1 to 2^CNT_W - 2.
    input  logic [CNT_W-1:0] nec_limit,
    input  logic [CNT_W-1:0] oc1_limit,
    input  logic [CNT_W-1:0] oc2_limit,
    input  logic [CNT_W-1:0] dec_limit,
    input  logic [CNT_W-1:0] dc_limit,
    // Choices where the paper is silent or wrong.
    input  logic             literal_dec,
    input  logic             any_drop_ends_absorption,
    input  logic             keep_drop_count,
    output logic [1:0]       state,           // 0 normal, 1 absorption, 2 evacuation
    output logic [1:0]       next_state,      // after the current event
    output logic [CNT_W-1:0] nec,
    output logic [CNT_W-1:0] oc1,
    output logic [CNT_W-1:0] oc2,
    output logic [CNT_W-1:0] dec,
    output logic [CNT_W-1:0] dc
);
    localparam logic [1:0] NORMAL = 2'd0, ABSORPTION = 2'd1, EVACUATION = 2'd2;

    logic [CNT_W-1:0] nec_next, oc1_next, oc2_next, dec_next, dc_next;
    logic             in_a_row;
    logic [1:0]       state_next;

    assign in_a_row   = dec_next >= dec_limit;
    assign next_state = state_next;

    always_comb begin
        dec_next = dec;
        if (dequeue && dec != '1) dec_next = dec + 1'b1;
        if (enqueue || (drop && !literal_dec)) dec_next = '0;
    end

    always_comb begin
        state_next = state;
        nec_next   = nec;
        oc1_next   = oc1;
        oc2_next   = oc2;
        dc_next    = dc;
        if (enqueue && state == NORMAL) begin
            nec_next = nec + 1'b1;
            if (nec_next >= nec_limit) state_next = ABSORPTION;  // Tr1
        end
        if (dequeue) begin
            case (state)
                NORMAL: begin
                    nec_next = nec == '0 ? '0 : nec - 1'b1;
                    oc1_next = oc1 + 1'b1;
                    if (oc1_next >= oc1_limit) begin
                        nec_next = '0;
                        oc1_next = '0;
                    end
                    if (in_a_row) dc_next = '0;
                end
                ABSORPTION: begin
                    oc2_next = oc2 + 1'b1;
                    if (in_a_row) dc_next = '0;
                    if (in_a_row || oc2_next >= oc2_limit) state_next = NORMAL;
                end
                default: if (in_a_row || below) state_next = NORMAL;
            endcase
        end
        if (drop) begin
            nec_next = '0;
            oc1_next = '0;
            if (state == ABSORPTION && (overflow || any_drop_ends_absorption)) begin
                state_next = NORMAL;
                if (!keep_drop_count) dc_next = '0;
            end
            // The drop that ends absorption counts in the normal state.
            if (state_next == NORMAL) begin
                dc_next = dc_next + 1'b1;
                if (dc_next >= dc_limit) begin
                    dc_next = '0;
                    if (!below) state_next = EVACUATION;  // Tr2
                end
            end
        end
    end

    // Counters are 0 when a state begins. In one step, absorption may end and DC start anew.
    logic changes, keeps_dc;
    assign changes  = state_next != state || (drop && state == ABSORPTION && (overflow || any_drop_ends_absorption));
    assign keeps_dc = drop || (keep_drop_count && state != EVACUATION && state_next != EVACUATION);

    always_ff @(posedge clk) begin
        if (rst) begin
            state <= NORMAL;
            nec   <= '0;
            oc1   <= '0;
            oc2   <= '0;
            dec   <= '0;
            dc    <= '0;
        end else begin
            state <= state_next;
            nec   <= changes ? '0 : nec_next;
            oc1   <= changes ? '0 : oc1_next;
            oc2   <= changes ? '0 : oc2_next;
            dec   <= changes ? '0 : dec_next;
            dc    <= changes && !keeps_dc ? '0 : dc_next;
        end
    end

`ifdef FORMAL
    `include "tdt_state.properties"
`endif
endmodule
