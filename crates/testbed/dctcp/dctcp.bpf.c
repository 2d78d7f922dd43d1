// DCTCP (RFC 8257) for kernels without DCTCP. A process loads this congestion control, and the
// kernel unloads it when the process ends.
//
// Comments name the sections of the RFC. The structures contain only the fields that this program
// uses. Their offsets are adapted to the kernel that loads the program (`preserve_access_index`),
// so no kernel headers are needed.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SECTION(name) __attribute__((section(name), used))
#define OF_KERNEL __attribute__((preserve_access_index))

// The program uses only the address of `sock`. A declaration without a body would be a different
// type.
struct sock {
} OF_KERNEL;

struct inet_connection_sock {
    struct {
        u8 pending;
    } icsk_ack;
    u64 icsk_ca_priv[13];
} OF_KERNEL;

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    u32 rcv_nxt;
    u32 snd_nxt;
    u32 snd_una;
    u32 snd_cwnd;
    u32 snd_ssthresh;
    u32 delivered;
    u32 delivered_ce;
    u8 ecn_flags;
} OF_KERNEL;

struct tcp_congestion_ops {
    u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
    void (*set_state)(struct sock *sk, u8 new_state);
    void (*cwnd_event)(struct sock *sk, u32 event);
    void (*in_ack_event)(struct sock *sk, u32 flags);
    u32 (*undo_cwnd)(struct sock *sk);
    void (*init)(struct sock *sk);
    u32 flags;
    char name[16];
};

// Numbers of the kernel: helper bpf_tcp_send_ack, events of enum tcp_ca_event, states of enum
// tcp_ca_state, the bit by which the receiver echoes marks, and two states of its pending
// acknowledgement (delayed, immediate). Then two flags of a congestion control: it is available to
// every user, and negotiates ECN.
static long (*const send_ack)(void *tp, u32 rcv_nxt) = (void *)116;
enum { EVENT_LOSS = 3, EVENT_NO_CE = 4, EVENT_CE = 5 };
enum { STATE_RECOVERY = 3 };
enum { DEMAND_CWR = 4 };
enum { ACK_DELAYED = 2, ACK_NOW = 16 };
enum { NON_RESTRICTED = 1, NEEDS_ECN = 2 };

// Alpha is a fraction of 1,024. The weight g is 1/16 (sections 3.3 and 4.2).
enum { ONE = 1024, GAIN_SHIFT = 4 };

// State of a connection, which is in the kernel's memory for congestion controls.
struct state {
    u32 alpha;
    u32 window_end;
    u32 delivered;
    u32 delivered_ce;
    u32 before_loss;
    u32 prior_rcv_nxt;
    u32 is_marked;
};

extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __attribute__((section(".ksyms")));

static inline struct state *state_of(struct tcp_sock *tp)
{
    return (struct state *)tp->inet_conn.icsk_ca_priv;
}

static inline void begin_window(struct tcp_sock *tp, struct state *own)
{
    own->window_end = tp->snd_nxt;
    own->delivered = tp->delivered;
    own->delivered_ce = tp->delivered_ce;
}

static inline u32 halved(u32 window)
{
    return window > 3 ? window >> 1 : 2;
}

SECTION("struct_ops/dctcp_init")
int dctcp_init(u64 *ctx)
{
    struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
    struct state *own = state_of(tp);
    // Section 4.2: without an estimate, a flow reacts to its first mark as to a loss.
    own->alpha = ONE;
    own->before_loss = 0;
    own->prior_rcv_nxt = tp->rcv_nxt;
    own->is_marked = 0;
    begin_window(tp, own);
    return 0;
}

// Section 3.3, steps 5 to 9: once per window, alpha moves towards the fraction of marked packets.
SECTION("struct_ops/dctcp_in_ack_event")
int dctcp_in_ack_event(u64 *ctx)
{
    struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
    struct state *own = state_of(tp);
    if ((int)(tp->snd_una - own->window_end) < 0)
        return 0;
    u32 all = tp->delivered - own->delivered;
    u32 marked = tp->delivered_ce - own->delivered_ce;
    u32 alpha = own->alpha;
    u32 decay = alpha >> GAIN_SHIFT;
    // Without marks alpha must reach zero, although a sixteenth of it rounds to zero earlier.
    alpha -= decay > 0 ? decay : (alpha > 0 && marked == 0);
    if (all > 0 && marked > 0)
        alpha += (u32)(((u64)marked << (10 - GAIN_SHIFT)) / all);
    own->alpha = alpha < ONE ? alpha : ONE;
    begin_window(tp, own);
    return 0;
}

// Section 3.3, step 10: a mark reduces the window by alpha / 2.
SECTION("struct_ops/dctcp_ssthresh")
int dctcp_ssthresh(u64 *ctx)
{
    struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
    struct state *own = state_of(tp);
    own->before_loss = tp->snd_cwnd;
    u32 less = (u32)(((u64)tp->snd_cwnd * own->alpha) >> 11);
    u32 left = tp->snd_cwnd - less;
    return left > 2 ? left : 2;
}

// Section 3.4: the window grows as in ordinary TCP.
SECTION("struct_ops/dctcp_cong_avoid")
int dctcp_cong_avoid(u64 *ctx)
{
    tcp_reno_cong_avoid((struct sock *)ctx[0], (u32)ctx[1], (u32)ctx[2]);
    return 0;
}

// 3.5: a loss halves the present window as in ordinary TCP, even after a mark in the same round
// trip.
SECTION("struct_ops/dctcp_set_state")
int dctcp_set_state(u64 *ctx)
{
    struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
    if ((u8)ctx[1] == STATE_RECOVERY) {
        state_of(tp)->before_loss = tp->snd_cwnd;
        tp->snd_ssthresh = halved(tp->snd_cwnd);
    }
    return 0;
}

// 3.2: the receiver echoes every packet's mark. When the mark changes, it immediately sends the
// delayed acknowledgement of earlier packets, and that of the packet with the change. The sender
// therefore learns the exact marks of both.
SECTION("struct_ops/dctcp_cwnd_event")
int dctcp_cwnd_event(u64 *ctx)
{
    struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
    struct state *own = state_of(tp);
    u32 event = (u32)ctx[1];
    if (event == EVENT_LOSS) {
        own->before_loss = tp->snd_cwnd;
        tp->snd_ssthresh = halved(tp->snd_cwnd);
        return 0;
    }
    if (event != EVENT_CE && event != EVENT_NO_CE)
        return 0;
    u32 is_marked = event == EVENT_CE;
    if (is_marked != own->is_marked) {
        if (tp->inet_conn.icsk_ack.pending & ACK_DELAYED)
            send_ack(tp, own->prior_rcv_nxt);
        tp->inet_conn.icsk_ack.pending |= ACK_NOW;
        own->is_marked = is_marked;
    }
    own->prior_rcv_nxt = tp->rcv_nxt;
    if (is_marked)
        tp->ecn_flags |= DEMAND_CWR;
    else
        tp->ecn_flags &= (u8)~DEMAND_CWR;
    return 0;
}

SECTION("struct_ops/dctcp_undo_cwnd")
int dctcp_undo_cwnd(u64 *ctx)
{
    struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
    u32 before = state_of(tp)->before_loss;
    return tp->snd_cwnd > before ? tp->snd_cwnd : before;
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops bufferlab_dctcp = {
    .init = (void *)dctcp_init,
    .in_ack_event = (void *)dctcp_in_ack_event,
    .ssthresh = (void *)dctcp_ssthresh,
    .cong_avoid = (void *)dctcp_cong_avoid,
    .set_state = (void *)dctcp_set_state,
    .cwnd_event = (void *)dctcp_cwnd_event,
    .undo_cwnd = (void *)dctcp_undo_cwnd,
    .flags = NON_RESTRICTED | NEEDS_ECN,
    .name = "bufferlab_dctcp",
};

// The kernel allows its helpers for congestion controls only to programs with this licence.
SECTION("license") char permission[] = "Dual MIT/GPL";
