// Compares Plasticine's pipeline to the policy `plasticine-pisa`: verdicts, thresholds and every
// register that a decision reads.
#include "Vplasticine_pisa.h"
#include "replay.h"
#include <deque>

class Bench final : public Replay<Vplasticine_pisa> {
    static constexpr unsigned WIDTH = 26;

    static unsigned bits(uint64_t largest) {
        unsigned bits = 0;
        while (largest >> bits) bits++;
        return bits;
    }

    void configure(const Fields &fields) override {
        finish();
        reset();
        const uint64_t ports = fields[0], queues = fields[1], counted = fields[3];
        circuit_->capacity = fields[2];
        circuit_->last_port = ports - 1;
        circuit_->last_prio = queues - 1;
        circuit_->most_counted = counted;
        circuit_->by_enqueue = fields[4] & 1;
        circuit_->zero_when_empty = fields[4] >> 1 & 1;
        circuit_->congested_above = fields[5];
        circuit_->active_above = fields[6];
        circuit_->high_prios = fields[7];
        // Writes the Shift table, by priority, congested and active queues (64 x 8 at most).
        size_t at = 8;
        circuit_->table_write = 1;
        for (uint64_t prio = 0; prio < queues; prio++)
            for (uint64_t n = 0; n <= counted; n++)
                for (uint64_t m = 0; m <= queues; m++) {
                    circuit_->table_index = (prio << bits(64) | n) << bits(8) | m;
                    circuit_->table_shift = fields[at++];
                    tick();
                }
        circuit_->table_write = 0;
        // Reset again with the configuration applied, which sets Remaining to the capacity.
        circuit_->rst = 1;
        tick();
        circuit_->rst = 0;
        while (!circuit_->ready) tick();
    }

    void step() {
        tick();
        if (circuit_->answered) {
            if (expected_.empty()) {
                expect("an answer that nobody waits for", 0, 1);
                return;
            }
            compare(expected_.front());
            expected_.pop_front();
        }
        circuit_->arrive = circuit_->depart = circuit_->sync = 0;
    }

    void compare(const Fields &fields) {
        const uint64_t beyond = (uint64_t{1} << (WIDTH + 1)) - 1;
        expect("answer", fields[ANSWER], circuit_->answer);
        expect("threshold", fields[THRESHOLD] >> WIDTH ? beyond : fields[THRESHOLD], circuit_->threshold);
        expect("Remaining", fields[MORE], circuit_->remaining);
        expect("Qlength", fields[MORE + 1], circuit_->length);
        expect("N_Priority", fields[MORE + 2], circuit_->congested);
        expect("N_Port", fields[MORE + 3], circuit_->active);
    }

    // One packet per clock; each answer follows six clocks later.
    void arrive(const Fields &fields) override {
        circuit_->arrive = 1;
        circuit_->port = fields[PORT];
        circuit_->prio = fields[PRIO];
        circuit_->size = fields[SIZE];
        expected_.push_back(fields);
        step();
    }

    void depart(const Fields &fields) override {
        circuit_->depart = 1;
        circuit_->port = fields[PORT];
        circuit_->prio = fields[PRIO];
        circuit_->size = fields[SIZE];
        circuit_->left = fields[QUEUE_BYTES];
        circuit_->met = fields[THRESHOLD];
        step();
    }

    // In the policy, a step of the SYNC packets takes no time. Here packets wait until it has
    // written.
    void control(const Fields &) override {
        circuit_->sync = 1;
        step();
        int waited = 1;
        for (; !circuit_->sync_done && waited < 100; waited++) step();
        expect("a SYNC step ends", 1, waited < 100);
    }

    void finish() override {
        for (int i = 0; i < 8 && circuit_; i++) step();
        expect("answers that did not come", 0, expected_.size());
    }

    std::deque<Fields> expected_;
};

int main(int argc, char **argv) { return Bench().play(argc, argv); }
