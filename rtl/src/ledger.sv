// Byte counts of queues, ports and the pool.
//
// One packet is stored or removed per clock. Lengths are read in the clock in which they change, so
// a decision and its change are one step and no forwarding is needed. After a reset the entries are
// cleared, one per clock; then `ready` is set.
//
// Latency: 0 clocks for reading, 1 for a change. Lengths are bytes; nothing is rounded.
module ledger #(
    parameter int PORTS  = 8,
    parameter int QUEUES = 1,
    parameter int W      = 26,  // bits of a byte count
    parameter int PORT_W = PORTS > 1 ? $clog2(PORTS) : 1,
    parameter int PRIO_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic              clk,
    input  logic              rst,          // synchronous, active high
    output logic              ready,        // every entry is cleared
    input  logic [PORT_W-1:0] port,
    input  logic [PRIO_W-1:0] prio,
    input  logic              store,        // the packet joins the queue
    input  logic              remove,       // the packet leaves the queue
    input  logic [W-1:0]      size,
    output logic [W-1:0]      queue_bytes,  // before the change
    output logic [W-1:0]      port_bytes,
    output logic [W-1:0]      pool_bytes
);
    localparam int ADDRESS_W = PORT_W + PRIO_W;

    logic [W-1:0] queues[2**ADDRESS_W];
    logic [W-1:0] ports[2**PORT_W];
    logic [ADDRESS_W:0] cleared;  // the extra top bit: clearing is done

    assign ready = cleared[ADDRESS_W];
    assign queue_bytes = queues[{port, prio}];
    assign port_bytes  = ports[port];

    // Change of the byte counts in two's complement.
    logic [W-1:0] change;
    assign change = remove ? -size : size;

    logic write;
    logic [ADDRESS_W-1:0] address;
    assign write   = !ready || store || remove;
    assign address = ready ? {port, prio} : cleared[ADDRESS_W-1:0];

    always_ff @(posedge clk) begin
        if (write) begin
            queues[address] <= ready ? queue_bytes + change : '0;
            // During clearing, the address passes every port several times.
            ports[address[ADDRESS_W-1:PRIO_W]] <= ready ? port_bytes + change : '0;
        end
    end

    always_ff @(posedge clk) begin
        if (rst) cleared <= '0;
        else if (!ready) cleared <= cleared + 1'b1;
    end

    always_ff @(posedge clk) begin
        if (rst) pool_bytes <= '0;
        else if (ready && (store || remove)) pool_bytes <= pool_bytes + change;
    end
endmodule
