/* The switch of bufferlab as queue discs of ns-3: all ports of a node share one memory.
 *
 *     Ptr<BufferlabMemory> memory = BufferlabMemory::FromToml(text, devices);
 *     memory->Install();      // before addresses are assigned
 *
 * Each port gets a BufferlabQueueDisc. It passes arrivals to the memory and keeps stored packets
 * under their numbers, so that the policy can evict any packet. BufferlabTag carries the ingress
 * port, which the traffic control layer does not know, and optionally flow, flags and priority.
 *
 * Copyright the bufferlab authors. SPDX-License-Identifier: MIT
 */
#ifndef BUFFERLAB_QUEUE_DISC_H
#define BUFFERLAB_QUEUE_DISC_H

#include <bufferlab.h>

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/queue.h"
#include "ns3/queue-disc.h"

#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

namespace ns3
{

/** Ingress port of a packet, and the flow, flags and priority that its host sets. */
class BufferlabTag : public Tag
{
  public:
    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer buffer) const override;
    void Deserialize(TagBuffer buffer) override;
    void Print(std::ostream& os) const override;

    uint16_t ingressPort = 0xffff; //!< 0xffff if the switch's node sent the packet
    bool hasHeader = false;        //!< whether the host has set the following fields
    uint32_t flow = 0;
    uint16_t flags = 0; //!< BUFFERLAB_SMALL and others
    uint8_t priority = 0;
};

/** Stored packets of a port, in order of arrival, which can be found by their numbers. */
class BufferlabStore : public Queue<QueueDiscItem>
{
  public:
    static TypeId GetTypeId();
    BufferlabStore();
    bool Enqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> Dequeue() override;
    Ptr<QueueDiscItem> Remove() override;
    Ptr<const QueueDiscItem> Peek() const override;

    void Put(uint32_t id, uint8_t queue, Ptr<QueueDiscItem> item);
    /** Removes a packet for transmission. `isFirst` is true if it was the oldest of its queue. */
    Ptr<QueueDiscItem> Take(uint32_t id, bool& isFirst);
    /** Removes a packet without sending it. */
    void Evict(uint32_t id);

  private:
    struct Place
    {
        Iterator item;
        uint8_t queue;
        std::list<uint32_t>::iterator order;
    };

    std::unordered_map<uint32_t, Place> m_places;
    std::unordered_map<uint8_t, std::list<uint32_t>> m_orders; //!< numbers of packets by queue
};

class BufferlabQueueDisc;

/** Shared memory of all ports of a switch. */
class BufferlabMemory : public Object
{
  public:
    /** Counts of packets and events since the start of the simulation. */
    struct Totals
    {
        uint64_t arrivals = 0;
        uint64_t drops = 0;
        uint64_t evictions = 0;
        uint64_t marks = 0;
        uint64_t departures = 0;
        uint64_t pauses = 0;     //!< demands only: ns-3 has no priority flow control
        uint64_t misordered = 0; //!< packets that overtook an older packet
        uint64_t peak = 0;       //!< largest occupancy of the memory (bytes)
    };

    /** Sets flow, tags and priority of an arriving packet. */
    typedef std::function<void(Ptr<const QueueDiscItem>, bufferlab_packet&)> Classifier;

    static TypeId GetTypeId();
    /** Creates the switch of a scenario text without [topology]; port i is device i. Aborts with
     *  the library's message if the text is wrong. */
    static Ptr<BufferlabMemory> FromToml(const std::string& text, const NetDeviceContainer& devices);

    /** Installs a queue disc at every port and tags arriving packets. */
    void Install();
    void SetClassifier(Classifier classifier);
    const Totals& GetTotals() const;
    /** Returns the stored bytes; BUFFERLAB_ALL selects all ports or queues. */
    uint64_t GetOccupancy(int32_t port = BUFFERLAB_ALL, int32_t queue = BUFFERLAB_ALL) const;
    /** Aborts if the ledger differs from the content of the queues, or the policy failed. */
    void Verify();

  protected:
    void DoDispose() override;

  private:
    friend class BufferlabQueueDisc;
    /** Handles an arrival; the packet's number is `id`. */
    bufferlab_verdict Arrive(uint16_t port, Ptr<QueueDiscItem> item, uint32_t& id);
    /** Takes the next packet of a port; returns false if the port may send none. */
    bool Depart(uint16_t port, bufferlab_departure& departure);
    /** Removes evicted packets, frees numbers, and schedules the policy's timer. */
    void Settle();
    void HandleTimer();
    static void OnEvent(void* user, const bufferlab_event* event);
    static void TagIngress(uint16_t port, Ptr<const Packet> packet);
    void Check(int32_t code, const char* what) const;

    bufferlab_switch* m_switch = nullptr;
    NetDeviceContainer m_devices;
    std::vector<BufferlabQueueDisc*> m_discs; //!< owned by the traffic control layer
    Classifier m_classifier;
    std::vector<bufferlab_event> m_evicted;
    std::vector<uint32_t> m_free; //!< free numbers, whose packets have left
    uint32_t m_ids = 0;
    EventId m_timer;
    bool m_hasTimer = false;
    Totals m_totals;
};

/** Queue disc of one port of a BufferlabMemory. */
class BufferlabQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId();
    BufferlabQueueDisc();
    void SetPort(Ptr<BufferlabMemory> memory, uint16_t port);

  protected:
    void DoDispose() override;

  private:
    friend class BufferlabMemory;
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    Ptr<BufferlabMemory> m_memory;
    Ptr<BufferlabStore> m_store;
    uint16_t m_port = 0;
};

} // namespace ns3

#endif
