// Compares Dynamic Thresholds to the policy `dt`.
#include "Vdt_unit.h"
#include "replay.h"

class Bench final : public Replay<Vdt_unit> {
    void configure(const Fields &fields) override {
        drain();
        reset();
        circuit_->capacity = fields[2];
        for (uint64_t prio = 0; prio < fields[1]; prio++) {
            const auto exponent = static_cast<int64_t>(fields[3 + prio]);
            circuit_->distances = (circuit_->distances & ~(uint64_t{63} << (6 * prio))) |
                                  static_cast<uint64_t>(16 - exponent) << (6 * prio);
        }
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

    void check(const Fields &fields, bool arrives) override {
        const uint64_t removed = arrives ? 0 : fields[SIZE];
        expect("bytes of the queue", fields[QUEUE_BYTES] + removed, circuit_->queue_bytes);
        expect("bytes of the pool", fields[POOL_BYTES] + removed, circuit_->pool_bytes);
        if (!arrives) return;
        expect("answer", fields[ANSWER], circuit_->answer);
        expect("threshold", fields[THRESHOLD], circuit_->threshold);
    }
};

int main(int argc, char **argv) { return Bench().play(argc, argv); }
