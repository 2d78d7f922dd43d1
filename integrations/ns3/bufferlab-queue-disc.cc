/* Copyright the bufferlab authors. SPDX-License-Identifier: MIT */
#include "bufferlab-queue-disc.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/traffic-control-layer.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(BufferlabTag);
NS_OBJECT_ENSURE_REGISTERED(BufferlabStore);
NS_OBJECT_ENSURE_REGISTERED(BufferlabMemory);
NS_OBJECT_ENSURE_REGISTERED(BufferlabQueueDisc);

TypeId
BufferlabTag::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::BufferlabTag").SetParent<Tag>().AddConstructor<BufferlabTag>();
    return tid;
}

TypeId
BufferlabTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
BufferlabTag::GetSerializedSize() const
{
    return 10;
}

void
BufferlabTag::Serialize(TagBuffer buffer) const
{
    buffer.WriteU16(ingressPort);
    buffer.WriteU8(hasHeader);
    buffer.WriteU32(flow);
    buffer.WriteU16(flags);
    buffer.WriteU8(priority);
}

void
BufferlabTag::Deserialize(TagBuffer buffer)
{
    ingressPort = buffer.ReadU16();
    hasHeader = buffer.ReadU8();
    flow = buffer.ReadU32();
    flags = buffer.ReadU16();
    priority = buffer.ReadU8();
}

void
BufferlabTag::Print(std::ostream& os) const
{
    os << "ingress=" << ingressPort << " flow=" << flow;
}

TypeId
BufferlabStore::GetTypeId()
{
    static TypeId tid = TypeId("ns3::BufferlabStore")
                            .SetParent<Queue<QueueDiscItem>>()
                            .AddConstructor<BufferlabStore>();
    return tid;
}

BufferlabStore::BufferlabStore()
{
    // The shared memory limits the stored packets, so this queue has no limit.
    SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, 0x7fffffff));
}

bool
BufferlabStore::Enqueue(Ptr<QueueDiscItem> item)
{
    return DoEnqueue(GetContainer().end(), item);
}

Ptr<QueueDiscItem>
BufferlabStore::Dequeue()
{
    return DoDequeue(GetContainer().begin());
}

Ptr<QueueDiscItem>
BufferlabStore::Remove()
{
    return DoRemove(GetContainer().begin());
}

Ptr<const QueueDiscItem>
BufferlabStore::Peek() const
{
    return DoPeek(GetContainer().begin());
}

void
BufferlabStore::Put(uint32_t id, uint8_t queue, Ptr<QueueDiscItem> item)
{
    Place place;
    place.queue = queue;
    NS_ABORT_UNLESS(DoEnqueue(GetContainer().end(), item, place.item));
    std::list<uint32_t>& order = m_orders[queue];
    place.order = order.insert(order.end(), id);
    NS_ABORT_UNLESS(m_places.emplace(id, place).second);
}

Ptr<QueueDiscItem>
BufferlabStore::Take(uint32_t id, bool& isFirst)
{
    auto found = m_places.find(id);
    NS_ABORT_MSG_IF(found == m_places.end(), "a packet departs that the port does not store");
    Place place = found->second;
    m_places.erase(found);
    std::list<uint32_t>& order = m_orders[place.queue];
    isFirst = place.order == order.begin();
    order.erase(place.order);
    return DoDequeue(place.item);
}

void
BufferlabStore::Evict(uint32_t id)
{
    auto found = m_places.find(id);
    NS_ABORT_MSG_IF(found == m_places.end(), "a packet is evicted that the port does not store");
    Place place = found->second;
    m_places.erase(found);
    m_orders[place.queue].erase(place.order);
    DoRemove(place.item);
}

TypeId
BufferlabMemory::GetTypeId()
{
    static TypeId tid = TypeId("ns3::BufferlabMemory").SetParent<Object>();
    return tid;
}

Ptr<BufferlabMemory>
BufferlabMemory::FromToml(const std::string& text, const NetDeviceContainer& devices)
{
    std::vector<uint64_t> rates;
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        DataRateValue rate;
        devices.Get(i)->GetAttribute("DataRate", rate);
        rates.push_back(rate.Get().GetBitRate());
    }
    Ptr<BufferlabMemory> memory = CreateObject<BufferlabMemory>();
    memory->m_devices = devices;
    memory->Check(
        bufferlab_from_toml(text.c_str(), rates.data(), rates.size(), &memory->m_switch),
        "bufferlab_from_toml");
    memory->Check(bufferlab_observe(memory->m_switch, &OnEvent, PeekPointer(memory)),
                  "bufferlab_observe");
    return memory;
}

void
BufferlabMemory::Install()
{
    for (uint32_t i = 0; i < m_devices.GetN(); i++)
    {
        Ptr<NetDevice> device = m_devices.Get(i);
        Ptr<BufferlabQueueDisc> disc = CreateObject<BufferlabQueueDisc>();
        disc->SetPort(this, static_cast<uint16_t>(i));
        m_discs.push_back(PeekPointer(disc));
        Ptr<TrafficControlLayer> layer = device->GetNode()->GetObject<TrafficControlLayer>();
        NS_ABORT_MSG_UNLESS(layer, "install the internet stack first");
        layer->SetRootQueueDiscOnDevice(device, disc);
        bool found = device->TraceConnectWithoutContext(
            "PhyRxEnd",
            MakeBoundCallback(&TagIngress, static_cast<uint16_t>(i)));
        NS_ABORT_MSG_UNLESS(found, "the device has no trace PhyRxEnd");
    }
    Settle();
}

void
BufferlabMemory::SetClassifier(Classifier classifier)
{
    m_classifier = classifier;
}

const BufferlabMemory::Totals&
BufferlabMemory::GetTotals() const
{
    return m_totals;
}

uint64_t
BufferlabMemory::GetOccupancy(int32_t port, int32_t queue) const
{
    uint64_t bytes = 0;
    Check(bufferlab_occupancy(m_switch, port, queue, &bytes), "bufferlab_occupancy");
    return bytes;
}

void
BufferlabMemory::Verify()
{
    Check(bufferlab_verify(m_switch), "bufferlab_verify");
}

void
BufferlabMemory::DoDispose()
{
    m_timer.Cancel();
    m_discs.clear();
    m_devices = NetDeviceContainer();
    bufferlab_free(m_switch);
    m_switch = nullptr;
    Object::DoDispose();
}

void
BufferlabMemory::Check(int32_t code, const char* what) const
{
    NS_ABORT_MSG_IF(code < 0, what << ": " << bufferlab_last_error());
}

void
BufferlabMemory::TagIngress(uint16_t port, Ptr<const Packet> packet)
{
    // Every link copies its packets, so the device may change the packet.
    Ptr<Packet> own = ConstCast<Packet>(packet);
    BufferlabTag tag;
    own->RemovePacketTag(tag);
    tag.ingressPort = port;
    own->AddPacketTag(tag);
}

/* Returns the ECN state of a packet. Ipv4QueueDiscItem stores the IP header outside the packet. */
static uint8_t
GetEcn(Ptr<const QueueDiscItem> item)
{
    Ptr<const Ipv4QueueDiscItem> ipv4 = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (!ipv4 || ipv4->GetHeader().GetEcn() == Ipv4Header::ECN_NotECT)
    {
        return BUFFERLAB_ECN_NOT_CAPABLE;
    }
    bool isMarked = ipv4->GetHeader().GetEcn() == Ipv4Header::ECN_CE;
    return isMarked ? BUFFERLAB_ECN_MARKED : BUFFERLAB_ECN_CAPABLE;
}

bufferlab_verdict
BufferlabMemory::Arrive(uint16_t port, Ptr<QueueDiscItem> item, uint32_t& id)
{
    BufferlabTag tag;
    item->GetPacket()->PeekPacketTag(tag);
    bufferlab_packet packet = {};
    if (m_free.empty())
    {
        id = m_ids++;
    }
    else
    {
        id = m_free.back();
        m_free.pop_back();
    }
    packet.id = id;
    packet.size = item->GetSize();
    packet.egress_port = port;
    packet.ingress_port = tag.ingressPort == 0xffff ? port : tag.ingressPort;
    packet.flow = tag.hasHeader ? tag.flow : item->Hash();
    packet.tags = tag.flags;
    packet.priority = tag.priority;
    packet.ecn = GetEcn(item);
    if (m_classifier)
    {
        m_classifier(item, packet);
    }
    bufferlab_verdict verdict;
    uint64_t now = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());
    Check(bufferlab_arrive(m_switch, now, &packet, &verdict), "bufferlab_arrive");
    m_totals.arrivals++;
    m_totals.marks += verdict.marked;
    if (verdict.event != BUFFERLAB_ADMITTED)
    {
        m_totals.drops++;
        m_free.push_back(id);
    }
    m_totals.peak = std::max(m_totals.peak, GetOccupancy());
    return verdict;
}

bool
BufferlabMemory::Depart(uint16_t port, bufferlab_departure& departure)
{
    uint64_t now = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());
    int32_t code = bufferlab_depart(m_switch, now, port, &departure);
    Check(code, "bufferlab_depart");
    if (code == BUFFERLAB_NONE)
    {
        return false;
    }
    m_totals.departures++;
    m_totals.marks += departure.marked;
    m_free.push_back(departure.packet);
    return true;
}

void
BufferlabMemory::OnEvent(void* user, const bufferlab_event* event)
{
    BufferlabMemory* self = static_cast<BufferlabMemory*>(user);
    if (event->event == BUFFERLAB_EVICTED)
    {
        // The evicted packet may be the arriving packet, which its port does not store yet.
        self->m_evicted.push_back(*event);
    }
    else if (event->event == BUFFERLAB_PAUSED)
    {
        self->m_totals.pauses++;
    }
}

void
BufferlabMemory::Settle()
{
    for (const bufferlab_event& event : m_evicted)
    {
        m_totals.evictions++;
        m_discs.at(event.port)->m_store->Evict(event.packet);
        m_free.push_back(event.packet);
    }
    m_evicted.clear();
    uint64_t at;
    int32_t code = bufferlab_next_timer(m_switch, &at);
    Check(code, "bufferlab_next_timer");
    if (code == BUFFERLAB_OK && !m_hasTimer)
    {
        // The time is rounded up to whole nanoseconds, because a timer that is early has no effect.
        Time time = std::max(NanoSeconds((at + 999) / 1000), Simulator::Now());
        m_hasTimer = true;
        m_timer =
            Simulator::Schedule(time - Simulator::Now(), &BufferlabMemory::HandleTimer, this);
    }
}

void
BufferlabMemory::HandleTimer()
{
    m_hasTimer = false;
    uint64_t now = static_cast<uint64_t>(Simulator::Now().GetPicoSeconds());
    Check(bufferlab_timer(m_switch, now), "bufferlab_timer");
    Settle();
}

TypeId
BufferlabQueueDisc::GetTypeId()
{
    static TypeId tid = TypeId("ns3::BufferlabQueueDisc")
                            .SetParent<QueueDisc>()
                            .AddConstructor<BufferlabQueueDisc>();
    return tid;
}

BufferlabQueueDisc::BufferlabQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::NO_LIMITS)
{
}

void
BufferlabQueueDisc::SetPort(Ptr<BufferlabMemory> memory, uint16_t port)
{
    m_memory = memory;
    m_port = port;
}

void
BufferlabQueueDisc::DoDispose()
{
    m_memory = nullptr;
    m_store = nullptr;
    QueueDisc::DoDispose();
}

bool
BufferlabQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    uint32_t id;
    bufferlab_verdict verdict = m_memory->Arrive(m_port, item, id);
    bool isStored = verdict.event == BUFFERLAB_ADMITTED;
    if (isStored)
    {
        if (verdict.marked)
        {
            Mark(item, "bufferlab");
        }
        m_store->Put(id, verdict.queue, item);
    }
    else
    {
        const char* reason = bufferlab_name(verdict.reason);
        DropBeforeEnqueue(item, reason ? reason : "bufferlab");
    }
    m_memory->Settle();
    return isStored;
}

Ptr<QueueDiscItem>
BufferlabQueueDisc::DoDequeue()
{
    bufferlab_departure departure;
    if (!m_memory->Depart(m_port, departure))
    {
        return nullptr;
    }
    bool isFirst = false;
    Ptr<QueueDiscItem> item = m_store->Take(departure.packet, isFirst);
    m_memory->m_totals.misordered += !isFirst;
    if (departure.marked)
    {
        Mark(item, "bufferlab");
    }
    m_memory->Settle();
    return item;
}

bool
BufferlabQueueDisc::CheckConfig()
{
    if (!m_memory || GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 ||
        GetNInternalQueues() > 0)
    {
        return false;
    }
    m_store = CreateObject<BufferlabStore>();
    AddInternalQueue(m_store);
    return true;
}

void
BufferlabQueueDisc::InitializeParams()
{
}

} // namespace ns3
