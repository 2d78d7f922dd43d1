#!/bin/sh
# Study of docs/evidence/training-step.md: 8 seeds of seven rules with almost no storage query, with
# half of the queries, and with all queries. The study takes about four minutes of CPU time.
# Run the script in the root folder of the repository.
set -e
bufferlab sweep scenarios/training-step-storage.toml --seeds 8 --out results/training-step-study \
  --vary workload.1.queries_per_second_per_host=0.01,1000,2000 --variants \
  'HPCC: sonic-dt(alpha=[1.0,0.125], xon_offset=3 KB)' \
  'frozen: sonic-dt(alpha=[1.0,0.125], lossless_static_threshold=193684 B, xon_offset=3 KB) +
    switch_override=[{ switches = "spine*", policy = { name = "sonic-dt", alpha = [1.0, 0.125],
    lossless_static_threshold = "231228 B", xon_offset = "3 KB" } }]' \
  'port-owned: sonic-dt(alpha=[1.0,0.125], lossless_static_threshold=129122 B,
    lossy_static_threshold=129122 B, xon_offset=3 KB)' \
  'Tomahawk 5: sonic-dt(alpha=[1.0,1.0], xon_offset=3 KB) + switch.hardware.family=tomahawk5' \
  'Spectrum-4: sonic-dt(alpha=[1.0,1.0], xon_offset=3 KB) + switch.hardware.family=spectrum4' \
  'ABM on SONiC: sonic-abm(xon_offset=3 KB)' 'filtered: reverie(xon_offset=3 KB)'
bufferlab report results/training-step-study --figures
