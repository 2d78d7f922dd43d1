// Compares LossPass's arbiter to the policy `losspass`: verdicts, evictions, missed chances, kept
// reserves, and the budget of five clocks.
#include "Vlosspass_arbiter.h"
#include "replay.h"
#include <array>

class Bench final : public Replay<Vlosspass_arbiter> {
    void configure(const Fields &fields) override {
        reset();
        circuit_->capacity = fields[2];
        circuit_->distance = 16 - static_cast<int64_t>(fields[3]);
        circuit_->is_static = fields[4] != 0;
        circuit_->port_buffer = fields[4];
        circuit_->large_reserve = fields[5];
        circuit_->hard_reserve = fields[6] & 1;
        circuit_->by_tag = fields[6] >> 1 & 1;
        circuit_->printed_line_4 = fields[6] >> 2 & 1;
        circuit_->has_classes = fields[6] >> 3 & 1;
        circuit_->small_prio = fields[7];
        circuit_->large_prio = fields[8];
        counts_.fill({});
    }

    // Starts the operation and waits for its answer, five clocks later. The next one may start in
    // the same clock.
    void operate(const Fields &fields, bool arrives) {
        circuit_->arrive = arrives;
        circuit_->depart = !arrives;
        circuit_->port = fields[PORT];
        circuit_->prio = fields[PRIO];
        circuit_->size = fields[SIZE];
        circuit_->tagged_small = fields[TAGS] >> 1 & 1;
        circuit_->tail_valid = arrives && fields[MORE];
        circuit_->tail_size = arrives ? fields[MORE + 1] : 0;
        circuit_->tail_small = arrives && fields[MORE + 2];
        expect("ready", 1, circuit_->ready);
        tick();
        circuit_->arrive = circuit_->depart = 0;
        uint64_t waited = 1, freed = 0;
        while (!circuit_->answered && waited < 10) {
            freed += circuit_->free_tail;
            tick();
            waited += 1;
        }
        expect("clocks of an answer", 5, waited);
        expect("evictions", arrives && fields[ANSWER] == STORED_FOR_ANOTHER, freed);
    }

    void arrive(const Fields &fields) override {
        operate(fields, true);
        expect("answer", fields[ANSWER], circuit_->answer);
        expect("bytes of the port", fields[PORT_BYTES], circuit_->port_bytes);
        expect("bytes of the pool", fields[POOL_BYTES], circuit_->pool_bytes);
        auto &count = counts_[fields[PORT]];
        count[0] += circuit_->answer == STORED_FOR_ANOTHER;
        count[1] += circuit_->missed_chance;
        count[2] += circuit_->kept_reserve;
        const char *names[] = {"evictions of the port", "missed chances", "kept reserves"};
        for (int i = 0; i < 3; i++) expect(names[i], fields[MORE + 3 + i], count[i]);
    }

    void depart(const Fields &fields) override {
        operate(fields, false);
        expect("bytes of the port", fields[PORT_BYTES] + fields[SIZE], circuit_->port_bytes);
        expect("bytes of the pool", fields[POOL_BYTES] + fields[SIZE], circuit_->pool_bytes);
    }

    std::array<std::array<uint64_t, 3>, 64> counts_{};
};

int main(int argc, char **argv) { return Bench().play(argc, argv); }
