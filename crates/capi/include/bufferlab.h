/* C interface to the shared buffer of one switch: admission, eviction, marks, scheduling, pauses.
 *
 * The caller is the driver: it supplies time, packets and transmissions. Call bufferlab_arrive when
 * the last bit of a packet has arrived, and bufferlab_depart when an egress port is idle. The
 * switch stores headers only; the caller stores the packets by their numbers.
 *
 * Times are picoseconds since the start and never decrease. Sizes are in bytes, rates in bits/s.
 * Ports and queues are numbered from 0. One thread at a time may use a switch.
 *
 * Functions return BUFFERLAB_OK, BUFFERLAB_NONE or a negative code; bufferlab_last_error returns
 * the error text. A failed call changes nothing, unless it returns BUFFERLAB_PANIC. No panic
 * leaves the library: after BUFFERLAB_PANIC a switch can only be freed.
 *
 * MIT OR Apache-2.0. crates/capi/src declares the same interface in Rust; a test compares them.
 */
#ifndef BUFFERLAB_H
#define BUFFERLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. Symbols contain the version, so different versions can coexist. */
#define BUFFERLAB_ABI 1
#define bufferlab_abi bufferlab_v1_abi
#define bufferlab_last_error bufferlab_v1_last_error
#define bufferlab_name bufferlab_v1_name
#define bufferlab_new bufferlab_v1_new
#define bufferlab_from_toml bufferlab_v1_from_toml
#define bufferlab_free bufferlab_v1_free
#define bufferlab_observe bufferlab_v1_observe
#define bufferlab_arrive bufferlab_v1_arrive
#define bufferlab_depart bufferlab_v1_depart
#define bufferlab_pause bufferlab_v1_pause
#define bufferlab_next_timer bufferlab_v1_next_timer
#define bufferlab_timer bufferlab_v1_timer
#define bufferlab_threshold bufferlab_v1_threshold
#define bufferlab_occupancy bufferlab_v1_occupancy
#define bufferlab_verify bufferlab_v1_verify

/* Results of functions. */
enum {
    BUFFERLAB_OK = 0,
    BUFFERLAB_NONE = 1,     /* the switch has no packet, timer or threshold */
    BUFFERLAB_INVALID = -1, /* an argument is null or out of range */
    BUFFERLAB_REFUSED = -2, /* the configuration is wrong */
    BUFFERLAB_FAILED = -3,  /* the policy or the ledger has a defect */
    BUFFERLAB_PANIC = -4    /* the library has a defect */
};

/* Events of packets and pauses. */
enum {
    BUFFERLAB_ADMITTED = 0,
    BUFFERLAB_DROPPED = 1,
    BUFFERLAB_EVICTED = 2,
    BUFFERLAB_MARKED = 3,
    BUFFERLAB_DEPARTED = 4,
    BUFFERLAB_PAUSED = 5,
    BUFFERLAB_RESUMED = 6,
    BUFFERLAB_TRIMMED = 7,    /* the payload was removed */
    BUFFERLAB_OTHER_EVENT = 255
};

/* Limits that refuse or remove packets. */
enum {
    BUFFERLAB_BUFFER_FULL = 0,
    BUFFERLAB_OVER_THRESHOLD = 1,
    BUFFERLAB_OVER_PORT_LIMIT = 2,
    BUFFERLAB_OVER_INGRESS_LIMIT = 3,
    BUFFERLAB_HEADROOM_FULL = 4,
    BUFFERLAB_EARLY = 5,
    BUFFERLAB_PREDICTED = 6,
    BUFFERLAB_PUSHED_OUT = 7,
    BUFFERLAB_EXPELLED = 8,
    BUFFERLAB_LINK_DOWN = 9,
    BUFFERLAB_POLICY_FAULT = 10, /* the policy failed: see bufferlab_verify */
    BUFFERLAB_PFC_WATCHDOG = 11,
    BUFFERLAB_OTHER_REASON = 254,
    BUFFERLAB_NO_REASON = 255
};

/* Congestion state of a packet (ECN). */
enum {
    BUFFERLAB_ECN_NOT_CAPABLE = 0, /* never marked */
    BUFFERLAB_ECN_CAPABLE = 1,
    BUFFERLAB_ECN_MARKED = 2
};

/* Flags of a packet that some policies read. */
enum {
    BUFFERLAB_UNSCHEDULED = 1,    /* packet of the flow's first round trip (ABM, Reverie) */
    BUFFERLAB_SMALL = 2,          /* packet of a short flow or of a flow's first bytes (LossPass) */
    BUFFERLAB_CONTROL = 4,        /* packet without data */
    BUFFERLAB_RETRANSMISSION = 8,
    BUFFERLAB_LOSSLESS = 16
};

/* Argument of bufferlab_occupancy: every port, or every queue of a port. */
#define BUFFERLAB_ALL (-1)

typedef struct bufferlab_switch bufferlab_switch;

typedef struct bufferlab_config {
    uint64_t capacity;            /* shared buffer (bytes) */
    const uint64_t *port_rates;   /* one rate for each port (bits per second) */
    uint32_t ports;
    uint32_t queues_per_port;     /* 1 to 32, served in round robin */
    uint32_t max_packet;          /* largest packet (bytes); 0 means 9216 */
    uint32_t lossless_priorities; /* bit p is 1 if the policy may pause priority p */
    uint64_t seed;                /* seed of random streams */
} bufferlab_config;

/* A parameter of a policy, written as in a scenario file: { "alpha", "0.5" }. */
typedef struct bufferlab_param {
    const char *name;
    const char *value;
} bufferlab_param;

typedef struct bufferlab_packet {
    uint32_t id;   /* chosen by the caller, returned at departure or eviction */
    uint32_t size; /* bytes to charge, at least 1 */
    uint32_t flow;
    uint16_t ingress_port;
    uint16_t egress_port;
    uint16_t tags;
    uint8_t priority; /* chooses the queue; a classifier may change it */
    uint8_t ecn;
} bufferlab_packet;

typedef struct bufferlab_verdict {
    uint8_t event;  /* BUFFERLAB_ADMITTED if the packet was stored, not lost or trimmed */
    uint8_t reason; /* BUFFERLAB_NO_REASON if the packet was stored */
    uint8_t marked; /* 1: set the packet's congestion mark */
    uint8_t queue;  /* queue of the egress port */
} bufferlab_verdict;

typedef struct bufferlab_departure {
    uint32_t packet;
    uint32_t size;  /* bytes that the departure releases */
    uint8_t queue;
    uint8_t marked; /* 1: set the packet's congestion mark */
    uint8_t more;   /* 1: the port has another packet to send */
    uint8_t reserved;
} bufferlab_departure;

/* A packet was evicted or trimmed (port and queue at egress), or the sender behind an ingress port
 * must pause or may resume a priority (packet, size and reason have no meaning). */
typedef struct bufferlab_event {
    uint64_t now;
    uint32_t packet;
    uint32_t size;
    uint16_t port;
    uint8_t queue;
    uint8_t event;
    uint8_t reason;
    uint8_t reserved[3];
} bufferlab_event;

/* The library calls the callback at the end of the function that caused the event, in order of
 * events. The callback may call any function of this library. The callback must return normally:
 * without an exception or longjmp. */
typedef void (*bufferlab_callback)(void *user, const bufferlab_event *event);

/* Returns BUFFERLAB_ABI of the library. */
uint32_t bufferlab_abi(void);

/* Returns the text of the last error in this thread, valid until the next call. Never null. */
const char *bufferlab_last_error(void);

/* Returns the name of a drop reason, as in bufferlab's tables; null for an unknown reason. */
const char *bufferlab_name(uint8_t reason);

/* Builds a switch with a policy of bufferlab's registry and `count` parameters. */
int32_t bufferlab_new(const bufferlab_config *config, const char *policy,
                      const bufferlab_param *params, size_t count, bufferlab_switch **out);

/* Builds the first switch of a scenario: policy, marking, scheduler, classifier, chip. If the text
 * lacks [topology], [switch] suffices, and the switch has `ports` ports (at least 2) with `rates`
 * and packets of up to 1500 bytes. If the text has [topology], `rates` must be null and `ports` 0.
 * Paths of files in the text are relative to the current folder. */
int32_t bufferlab_from_toml(const char *toml, const uint64_t *rates, size_t ports,
                            bufferlab_switch **out);

/* Frees a switch; a null pointer has no effect. */
void bufferlab_free(bufferlab_switch *self);

/* Sets the receiver of events; null removes it. Without a receiver, evictions are not reported. */
int32_t bufferlab_observe(bufferlab_switch *self, bufferlab_callback callback, void *user);

/* Handles the arrival of a packet. */
int32_t bufferlab_arrive(bufferlab_switch *self, uint64_t now, const bufferlab_packet *packet,
                         bufferlab_verdict *verdict);

/* Takes the next packet of an idle egress port; BUFFERLAB_NONE if no packet may be sent. */
int32_t bufferlab_depart(bufferlab_switch *self, uint64_t now, uint16_t port,
                         bufferlab_departure *departure);

/* The neighbour behind `port` pauses (1) or resumes (0) a priority. */
int32_t bufferlab_pause(bufferlab_switch *self, uint16_t port, uint8_t priority, int32_t paused);

/* Returns the time of the next timer; BUFFERLAB_NONE without a timer. Call this function after
 * bufferlab_arrive and bufferlab_timer. */
int32_t bufferlab_next_timer(const bufferlab_switch *self, uint64_t *at);

/* Handles all timers that are due at time `now` or earlier. */
int32_t bufferlab_timer(bufferlab_switch *self, uint64_t now);

/* Returns the policy's limit of an egress queue for a packet with `tags` (bytes); BUFFERLAB_NONE
 * if the policy has no limit. */
int32_t bufferlab_threshold(const bufferlab_switch *self, uint16_t port, uint8_t queue,
                            uint16_t tags, uint64_t *bytes);

/* Returns the bytes of an egress queue, of a port (queue = BUFFERLAB_ALL), or of the whole buffer
 * (port and queue = BUFFERLAB_ALL). */
int32_t bufferlab_occupancy(const bufferlab_switch *self, int32_t port, int32_t queue,
                            uint64_t *bytes);

/* Checks that the ledger equals the content of the queues, and reports a failure of the policy,
 * at most once. */
int32_t bufferlab_verify(bufferlab_switch *self);

#ifdef __cplusplus
}
#endif

#endif
