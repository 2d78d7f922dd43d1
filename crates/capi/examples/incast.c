/* A burst to one port of a switch with 200 KB under Dynamic Thresholds. Build it with
 *
 *   cc -Wall -Werror incast.c $(pkg-config --cflags --libs bufferlab) -o incast
 */
#include <bufferlab.h>

#include <inttypes.h>
#include <stdio.h>

#define PORTS 8

static int refused(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, bufferlab_last_error());
    return 1;
}

static void on_event(void *user, const bufferlab_event *event)
{
    (void)user;
    if (event->event == BUFFERLAB_EVICTED)
        printf("packet %" PRIu32 " evicted: %s\n", event->packet, bufferlab_name(event->reason));
}

int main(void)
{
    uint64_t rates[PORTS], threshold = 0, bytes = 0, peak = 0;
    for (int port = 0; port < PORTS; port++)
        rates[port] = UINT64_C(10000000000);
    bufferlab_config config = {.capacity = 200000, .port_rates = rates, .ports = PORTS, .queues_per_port = 1};
    bufferlab_param alpha = {"alpha", "1/2"};
    bufferlab_switch *sw = NULL;
    if (bufferlab_new(&config, "dt", &alpha, 1, &sw) != BUFFERLAB_OK)
        return refused("bufferlab_new");
    if (bufferlab_observe(sw, on_event, NULL) != BUFFERLAB_OK)
        return refused("bufferlab_observe");

    /* Every 1,200 ns each of seven senders sends a packet, and port 0 sends one packet. */
    unsigned stored = 0, dropped = 0, sent = 0;
    for (uint32_t id = 0; id < 700; id++) {
        uint64_t now = (uint64_t)(id / 7) * 1200000;
        bufferlab_packet packet = {.id = id, .size = 1500, .ingress_port = (uint16_t)(1 + id % 7)};
        bufferlab_verdict verdict;
        if (bufferlab_arrive(sw, now, &packet, &verdict) != BUFFERLAB_OK)
            return refused("bufferlab_arrive");
        if (verdict.event == BUFFERLAB_ADMITTED)
            stored++;
        else
            dropped++;
        bufferlab_occupancy(sw, BUFFERLAB_ALL, BUFFERLAB_ALL, &bytes);
        peak = bytes > peak ? bytes : peak;
        bufferlab_departure departure;
        if (id % 7 == 6 && bufferlab_depart(sw, now, 0, &departure) == BUFFERLAB_OK)
            sent++;
    }
    bufferlab_threshold(sw, 0, 0, 0, &threshold);
    printf("stored %u, dropped %u, sent %u, peak %" PRIu64 " B, threshold %" PRIu64 " B\n", stored, dropped,
           sent, peak, threshold);
    if (bufferlab_verify(sw) != BUFFERLAB_OK)
        return refused("bufferlab_verify");
    bufferlab_free(sw);
    return 0;
}
