// Compares Traffic-aware Dynamic Thresholds to the policy `tdt`: verdicts, limits, states and every
// counter.
#include "Vtdt_unit.h"
#include "replay.h"
#include <algorithm>

class Bench final : public Replay<Vtdt_unit> {
    void configure(const Fields &fields) override {
        drain();
        reset();
        const uint64_t ports = fields[0], capacity = fields[2];
        circuit_->capacity = capacity;
        circuit_->distance = 16 - static_cast<int64_t>(fields[3]);
        circuit_->nec_limit = fields[4];
        circuit_->oc1_limit = fields[5];
        circuit_->oc2_limit = fields[6];
        circuit_->dec_limit = fields[7];
        circuit_->dc_limit = fields[8];
        circuit_->lower_bound = fields[9];
        circuit_->mode = fields[10];
        circuit_->even_share = capacity / ports;
        // Writes the table of the control plane: B / k for every number of ports.
        for (uint64_t k = 1; k <= ports; k++) {
            circuit_->quotient_write = 1;
            circuit_->quotient_index = k;
            circuit_->quotient = capacity / k;
            tick();
        }
        circuit_->quotient_write = 0;
    }

    void arrive(const Fields &fields) override { issue(fields, true); }
    void depart(const Fields &fields) override { issue(fields, false); }
    uint64_t answered() override { return circuit_->answered; }

    void drive(const Fields *fields, bool arrives) override {
        circuit_->arrive = fields && arrives;
        circuit_->depart = fields && !arrives;
        if (!fields) return;
        circuit_->port = (*fields)[PORT];
        circuit_->prio = (*fields)[PRIO];
        circuit_->size = (*fields)[SIZE];
    }

    uint64_t counter(unsigned index) const {
        uint64_t value = 0;
        for (unsigned i = 0; i < COUNTER_BITS; i++) {
            const unsigned at = index * COUNTER_BITS + i;
            value |= uint64_t{circuit_->counters[at / 32] >> (at % 32) & 1} << i;
        }
        return value;
    }

    void check(const Fields &fields, bool arrives) override {
        const uint64_t removed = arrives ? 0 : fields[SIZE];
        expect("bytes of the queue", fields[QUEUE_BYTES] + removed, circuit_->queue_bytes);
        expect("bytes of the port", fields[PORT_BYTES] + removed, circuit_->port_bytes);
        expect("bytes of the pool", fields[POOL_BYTES] + removed, circuit_->pool_bytes);
        if (arrives) {
            expect("answer", fields[ANSWER], circuit_->answer);
            // The policy's threshold is the port's limit minus its other queues.
            const uint64_t others = fields[PORT_BYTES] - fields[QUEUE_BYTES];
            const uint64_t limit = circuit_->port_limit;
            expect("threshold", fields[THRESHOLD], limit > others ? limit - others : 0);
        }
        const size_t first = arrives ? MORE : THRESHOLD;
        expect("state", fields[first], circuit_->state);
        expect("ports in absorption", fields[first + 1], circuit_->absorbing);
        const char *names[] = {"NEC", "OC1", "OC2", "DEC", "DC"};
        for (unsigned i = 0; i < 5; i++) {
            const uint64_t largest = (uint64_t{1} << COUNTER_BITS) - 1;
            expect(names[i], std::min(fields[first + 2 + i], largest), counter(i));
        }
    }

    static constexpr unsigned COUNTER_BITS = 16;
};

int main(int argc, char **argv) { return Bench().play(argc, argv); }
