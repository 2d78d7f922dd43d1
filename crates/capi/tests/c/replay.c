/* Replays a list of operations on a switch and prints a digest of all results. Arguments:
 * replay OPERATIONS PORTS RATE toml FILE
 * replay OPERATIONS PORTS RATE policy NAME CAPACITY QUEUES SEED */
#include "bufferlab.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct totals {
    uint64_t digest, packets, drops, evictions, marks, departures, pauses, timers;
};

static struct totals totals = {UINT64_C(0xcbf29ce484222325), 0, 0, 0, 0, 0, 0, 0};

static void take(uint64_t word)
{
    for (int byte = 0; byte < 8; byte++) {
        totals.digest = (totals.digest ^ (word & 0xff)) * UINT64_C(0x100000001b3);
        word >>= 8;
    }
}

static void check(int32_t code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %d: %s\n", what, (int)code, bufferlab_last_error());
        exit(1);
    }
}

static void on_event(void *user, const bufferlab_event *event)
{
    struct totals *sum = user;
    take(event->now);
    take(event->event);
    take(event->port);
    take(event->queue);
    if (event->event == BUFFERLAB_EVICTED) {
        sum->evictions++;
        take(event->packet);
        take(event->size);
        take(event->reason);
    } else {
        sum->pauses++;
    }
}

static void run_timers(bufferlab_switch *sw, uint64_t until)
{
    uint64_t at, bytes;
    int32_t code;
    while ((code = bufferlab_next_timer(sw, &at)) == BUFFERLAB_OK && at <= until) {
        totals.timers++;
        check(bufferlab_timer(sw, at), "timer");
        check(bufferlab_occupancy(sw, BUFFERLAB_ALL, BUFFERLAB_ALL, &bytes), "occupancy");
        take(bytes);
    }
    check(code, "next_timer");
}

static void arrive(bufferlab_switch *sw, uint64_t now, const char *rest)
{
    bufferlab_packet packet;
    bufferlab_verdict verdict;
    uint64_t threshold, bytes;
    memset(&packet, 0, sizeof packet);
    if (sscanf(rest,
               "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu16 " %" SCNu16 " %" SCNu16 " %" SCNu8
               " %" SCNu8,
               &packet.id, &packet.size, &packet.flow, &packet.ingress_port, &packet.egress_port,
               &packet.tags, &packet.priority, &packet.ecn) != 8) {
        fprintf(stderr, "a wrong arrival: %s", rest);
        exit(2);
    }
    check(bufferlab_arrive(sw, now, &packet, &verdict), "arrive");
    totals.packets++;
    totals.marks += verdict.marked;
    totals.drops += verdict.event != BUFFERLAB_ADMITTED;
    take(verdict.event);
    take(verdict.reason);
    take(verdict.marked);
    take(verdict.queue);
    if (bufferlab_threshold(sw, packet.egress_port, verdict.queue, packet.tags, &threshold) == BUFFERLAB_OK)
        take(threshold);
    check(bufferlab_occupancy(sw, packet.egress_port, verdict.queue, &bytes), "occupancy");
    take(bytes);
}

static void depart(bufferlab_switch *sw, uint64_t now, unsigned port)
{
    bufferlab_departure departure;
    int32_t code = bufferlab_depart(sw, now, (uint16_t)port, &departure);
    check(code, "depart");
    if (code == BUFFERLAB_NONE) {
        take(0);
        return;
    }
    totals.departures++;
    totals.marks += departure.marked;
    take(departure.packet);
    take(departure.size);
    take(departure.queue);
    take(departure.marked);
    take(departure.more);
}

static bufferlab_switch *build(char **argv, const uint64_t *rates, uint32_t ports)
{
    bufferlab_switch *sw = NULL;
    if (strcmp(argv[4], "toml") == 0) {
        static char text[1 << 16];
        FILE *file = fopen(argv[5], "r");
        if (file == NULL)
            exit(2);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        check(bufferlab_from_toml(text, rates, ports, &sw), "from_toml");
    } else {
        bufferlab_config config;
        memset(&config, 0, sizeof config);
        config.capacity = strtoull(argv[6], NULL, 10);
        config.port_rates = rates;
        config.ports = ports;
        config.queues_per_port = (uint32_t)strtoul(argv[7], NULL, 10);
        config.max_packet = 1500;
        config.seed = strtoull(argv[8], NULL, 10);
        check(bufferlab_new(&config, argv[5], NULL, 0, &sw), "new");
    }
    check(bufferlab_observe(sw, on_event, &totals), "observe");
    return sw;
}

int main(int argc, char **argv)
{
    static uint64_t rates[1024];
    static char line[256];
    uint64_t bytes;
    uint32_t ports;
    if (argc < 6 || bufferlab_abi() != BUFFERLAB_ABI)
        return 2;
    ports = (uint32_t)strtoul(argv[2], NULL, 10);
    for (uint32_t port = 0; port < ports && port < 1024; port++)
        rates[port] = strtoull(argv[3], NULL, 10);
    bufferlab_switch *sw = build(argv, rates, ports);
    FILE *file = fopen(argv[1], "r");
    if (file == NULL)
        return 2;
    while (fgets(line, sizeof line, file) != NULL) {
        char *rest;
        uint64_t now = strtoull(line + 2, &rest, 10);
        unsigned port, priority;
        int paused;
        run_timers(sw, now);
        if (line[0] == 'A') {
            arrive(sw, now, rest);
        } else if (line[0] == 'D' && sscanf(rest, "%u", &port) == 1) {
            depart(sw, now, port);
        } else if (line[0] == 'P' && sscanf(rest, "%u %u %d", &port, &priority, &paused) == 3) {
            check(bufferlab_pause(sw, (uint16_t)port, (uint8_t)priority, paused), "pause");
        } else {
            return 2;
        }
    }
    fclose(file);
    check(bufferlab_verify(sw), "verify");
    check(bufferlab_occupancy(sw, BUFFERLAB_ALL, BUFFERLAB_ALL, &bytes), "occupancy");
    bufferlab_free(sw);
    printf("digest %016" PRIx64 " packets %" PRIu64 " drops %" PRIu64 " evictions %" PRIu64 " marks %" PRIu64
           " departures %" PRIu64 " pauses %" PRIu64 " timers %" PRIu64 " stored %" PRIu64 "\n",
           totals.digest, totals.packets, totals.drops, totals.evictions, totals.marks, totals.departures,
           totals.pauses, totals.timers, bytes);
    return 0;
}
