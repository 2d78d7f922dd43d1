// The power of two that is nearest by ratio, as the distance of a right shift: 2^(49 - distance).
//
// Rounds up from the square root of two on: the mantissa is compared with ceil(2^48 sqrt(2)). So
// the result is within a factor of the square root of two. Reference:
// `Weight::nearest_power_of_two` of the core.
//
// Latency: combinational. Width: Q17.32 in, distance 0 to 49. Zero gives 63, a shift that clears
// all bits.
module nearest_power (
    input  logic [48:0] weight,
    output logic [5:0]  distance
);
    localparam logic [48:0] ROOT = 49'd398065729532861;  // see rtl/formal

    logic [5:0]  leading;   // number of leading zeros
    logic [48:0] mantissa;  // shifted until its top bit is set

    always_comb begin
        leading = 6'd49;
        for (int i = 0; i < 49; i++) if (weight[i]) leading = 6'(48 - i);
    end
    assign mantissa = weight << leading;
    assign distance = weight == '0 ? 6'd63 : mantissa >= ROOT ? leading : leading + 6'd1;

`ifdef FORMAL
    `include "nearest_power.properties"
`endif
endmodule
