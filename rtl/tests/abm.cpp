// Compares Active Buffer Management with a multiplier to the policy `abm`.
#include "Vabm_unit.h"
#include "replay.h"

class Bench final : public Replay<Vabm_unit> {
    void configure(const Fields &fields) override {
        drain();
        reset();
        circuit_->capacity = fields[2];
        const uint64_t priorities = fields[1];
        for (uint64_t prio = 0; prio < priorities; prio++) put(circuit_->alphas, 49 * prio, 49, fields[3 + prio]);
        circuit_->unscheduled_alpha = fields[3 + priorities];
    }

    void arrive(const Fields &fields) override { issue(fields, true); }
    void depart(const Fields &fields) override { issue(fields, false); }
    uint64_t answered() override { return circuit_->answered; }

    // Writes gamma and n of a queue; the next packet waits until the factor is in effect.
    void control(const Fields &fields) override {
        drain();
        expect("ready for an update", 1, circuit_->update_ready);
        circuit_->update = 1;
        circuit_->update_port = fields[0];
        circuit_->update_prio = fields[1];
        circuit_->gamma = fields[2];
        circuit_->n = fields[3];
        tick();
        circuit_->update = 0;
        uint64_t waited = 1;
        while (!circuit_->update_ready && waited < 100) {
            tick();
            waited += 1;
        }
        expect("clocks of an update", 35, waited);
    }

    void drive(const Fields *fields, bool arrives) override {
        circuit_->arrive = fields && arrives;
        circuit_->depart = fields && !arrives;
        if (!fields) return;
        circuit_->port = (*fields)[PORT];
        circuit_->prio = (*fields)[PRIO];
        circuit_->size = (*fields)[SIZE];
        circuit_->unscheduled = (*fields)[TAGS] & 1;
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
