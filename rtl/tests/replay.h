// Replays a sheet of recorded operations on a circuit and compares every answer.
//
// A sheet is a text file, described in dev/circuits/src/lib.rs: a line per operation, with
// numbers in hexadecimal. A bench derives from Replay and defines how an operation is applied to
// its circuit and which outputs are compared. The expected values are the policy's. This file
// computes only the configuration that a control plane would write.
#pragma once
#include "verilated.h"
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using Fields = std::vector<uint64_t>;

// The numbers of an arrival's line (dev/circuits/src/lib.rs), in order.
enum Arrival { PORT, PRIO, SIZE, TAGS, QUEUE_BYTES, PORT_BYTES, POOL_BYTES, THRESHOLD, ANSWER, MORE };
enum Answer { STORED, BUFFER_FULL, OVER_LIMIT, STORED_FOR_ANOTHER };
constexpr uint64_t NO_LIMIT = ~uint64_t{0};

template <class Circuit>
class Replay {
public:
    virtual ~Replay() = default;

    // Replays the sheet. Returns 0 without differences, 1 with differences, 2 if the sheet is
    // missing or empty.
    int play(int argc, char **argv) {
        if (argc < 2) {
            std::fprintf(stderr, "usage: %s SHEET [MOST_DIFFERENCES]\n", argv[0]);
            return 2;
        }
        std::FILE *file = std::fopen(argv[1], "r");
        if (!file) {
            std::fprintf(stderr, "%s: cannot be opened\n", argv[1]);
            return 2;
        }
        if (argc > 2) most_ = std::strtoull(argv[2], nullptr, 10);
        char *text = nullptr;
        size_t capacity = 0;
        Fields fields;
        while (getline(&text, &capacity, file) > 0 && differences_ < most_) {
            line_ += 1;
            fields.clear();
            char *at = text;
            const uint64_t kind = std::strtoull(at, &at, 16);
            for (char *end = at;; at = end) {
                const uint64_t value = std::strtoull(at, &end, 16);
                if (end == at) break;
                fields.push_back(value);
            }
            dispatch(kind, fields);
        }
        std::free(text);
        std::fclose(file);
        finish();
        std::printf("operations %" PRIu64 " packets %" PRIu64 " clocks %" PRIu64 " differences %" PRIu64 "\n", operations_,
                    packets_, clocks_, differences_);
        report();
        return differences_ ? 1 : operations_ ? 0 : 2;
    }

protected:
    virtual void configure(const Fields &fields) = 0;
    virtual void arrive(const Fields &fields) = 0;
    virtual void depart(const Fields &fields) = 0;
    virtual void control(const Fields &) {}
    // Applies an operation to the circuit's inputs, or clears them (nullptr).
    virtual void drive(const Fields *, bool /* arrives */) {}
    // Compares the circuit's outputs with the recorded answer of an operation.
    virtual void check(const Fields &, bool /* arrives */) {}

    // Applies one operation per clock, for circuits that answer after two clocks. The answer after
    // this clock belongs to the previous operation.
    void issue(const Fields &fields, bool arrives) {
        drive(&fields, arrives);
        tick();
        settle();
        waiting_ = fields;
        waits_ = true;
        waiting_arrives_ = arrives;
    }

    // Waits for the outstanding answer.
    void drain() {
        if (!waits_) return;
        drive(nullptr, false);
        tick();
        settle();
        waits_ = false;
    }

    // Ends the last operation of a sheet.
    virtual void finish() { drain(); }
    virtual void report() {}

    void tick() {
        circuit_->clk = 0;
        circuit_->eval();
        circuit_->clk = 1;
        circuit_->eval();
        clocks_ += 1;
    }

    // Creates a circuit, resets it for two clocks, and waits until it is ready.
    void reset() {
        circuit_ = std::make_unique<Circuit>();
        circuit_->rst = 1;
        tick();
        tick();
        circuit_->rst = 0;
        for (int i = 0; i < 100'000 && !circuit_->ready; i++) tick();
        expect("ready after reset", 1, circuit_->ready);
    }

    void expect(const char *what, uint64_t expected, uint64_t found) {
        if (expected == found) return;
        differences_ += 1;
        if (differences_ <= 5)
            std::fprintf(stderr, "line %" PRIu64 ": %s: the policy says %" PRIu64 ", the circuit %" PRIu64 "\n", line_, what,
                         expected, found);
    }

    std::unique_ptr<Circuit> circuit_;
    uint64_t line_ = 0;
    uint64_t clocks_ = 0;

private:
    void dispatch(uint64_t kind, const Fields &fields) {
        if (kind == 0) return configure(fields);
        operations_ += 1;
        packets_ += kind == 1;
        if (kind == 1) arrive(fields);
        else if (kind == 2) depart(fields);
        else control(fields);
    }

    void settle() {
        if (!waits_) return;
        expect("answered", 1, answered());
        check(waiting_, waiting_arrives_);
    }

    // The circuit's output `answered`; always 1 if the bench itself waits for it.
    virtual uint64_t answered() { return 1; }

    Fields waiting_;
    bool waits_ = false;
    bool waiting_arrives_ = false;
    uint64_t operations_ = 0;
    uint64_t packets_ = 0;
    uint64_t differences_ = 0;
    uint64_t most_ = ~uint64_t{0};
};

// Writes `bits` of `value` into a wide port, from bit `at` on.
template <class Wide>
void put(Wide &wide, unsigned at, unsigned bits, uint64_t value) {
    for (unsigned i = 0; i < bits; i++) {
        const uint32_t mask = 1u << ((at + i) % 32);
        uint32_t &word = wide[(at + i) / 32];
        word = (value >> i & 1) ? word | mask : word & ~mask;
    }
}
