// Compares ABM's thresholds by shifts to the core's rounding of the policy's factors, and measures
// their distance from the policy.
//
// The byte counts are the policy's. So both can be compared packet by packet, although their
// answers would differ.
#include "Vabm_threshold.h"
#include "replay.h"
#include <algorithm>

class Bench final : public Replay<Vabm_threshold> {
    void configure(const Fields &fields) override {
        reset();
        capacity_ = fields[2];
        const uint64_t priorities = fields[1];
        for (uint64_t prio = 0; prio < priorities; prio++) put(circuit_->alphas, 49 * prio, 49, fields[3 + prio]);
        circuit_->unscheduled_alpha = fields[3 + priorities];
    }

    void control(const Fields &fields) override {
        circuit_->update = 1;
        circuit_->update_port = fields[0];
        circuit_->update_prio = fields[1];
        circuit_->gamma = fields[2];
        circuit_->n = fields[3];
        tick();
        circuit_->update = 0;
        for (int i = 0; i < 100 && !circuit_->ready; i++) tick();
    }

    void arrive(const Fields &fields) override {
        circuit_->port = fields[PORT];
        circuit_->prio = fields[PRIO];
        circuit_->unscheduled = fields[TAGS] & 1;
        circuit_->free = capacity_ - fields[POOL_BYTES];
        circuit_->eval();
        expect("threshold by shift", fields[MORE], circuit_->threshold);
        const uint64_t exact = fields[THRESHOLD], length = fields[QUEUE_BYTES] + fields[SIZE];
        const bool full = fields[ANSWER] == BUFFER_FULL;
        other_answers_ += !full && (length <= circuit_->threshold) != (length <= exact);
        packets_ += 1;
        if (exact >= 1000) {
            const double ratio = static_cast<double>(circuit_->threshold) / static_cast<double>(exact);
            least_ = std::min(least_, ratio);
            largest_ = std::max(largest_, ratio);
        }
    }

    void depart(const Fields &) override {}

    void report() override {
        std::printf("other_answers %" PRIu64 " of %" PRIu64 " ratio %.4f to %.4f\n", other_answers_, packets_, least_, largest_);
    }

    uint64_t capacity_ = 0, other_answers_ = 0, packets_ = 0;
    double least_ = 1e9, largest_ = 0;
};

int main(int argc, char **argv) { return Bench().play(argc, argv); }
