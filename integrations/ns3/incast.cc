/* Runs a list of flows in a star of hosts around one switch with a shared memory of bufferlab.
 * Prints the completion time of every flow and the totals of the memory.
 *
 * Copyright the bufferlab authors. SPDX-License-Identifier: MIT
 */
#include "bufferlab-queue-disc.h"

#include "ns3/applications-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <fstream>
#include <iostream>
#include <sstream>

using namespace ns3;

struct Flow
{
    uint32_t from, to;
    uint64_t bytes, startNs;
    std::string name;
    uint64_t received = 0;
    int64_t endNs = -1;
};

static std::vector<Flow> g_flows;
static size_t g_open = 0;

static void
OnReceived(size_t index, Ptr<const Packet> packet, const Address&)
{
    Flow& flow = g_flows[index];
    flow.received += packet->GetSize();
    if (flow.received == flow.bytes)
    {
        flow.endNs = Simulator::Now().GetNanoSeconds();
        if (--g_open == 0)
        {
            // Retransmissions and acknowledgements in the network still leave the buffer.
            Simulator::Stop(MilliSeconds(50));
        }
    }
}

/* Checks Dynamic Thresholds with the bytes that ns-3 counts: with one queue per port, a packet is
 * stored iff q + len <= alpha (B - Q) and Q + len <= B. */
static double g_alpha = 0;
static uint64_t g_buffer = 0;
static std::vector<Ptr<QueueDisc>> g_discs;
static uint64_t g_wrong = 0;

static void
CheckVerdict(uint32_t port, bool isStored, Ptr<const QueueDiscItem> item)
{
    double size = item->GetSize(), total = 0;
    for (const Ptr<QueueDisc>& disc : g_discs)
    {
        total += disc->GetNBytes();
    }
    // ns-3 has already counted a stored packet.
    double before = isStored ? size : 0;
    double queue = g_discs[port]->GetNBytes() - before;
    total -= before;
    bool fits = queue + size <= g_alpha * (g_buffer - total) && total + size <= g_buffer;
    g_wrong += fits != isStored;
}

static void
OnStored(uint32_t port, Ptr<const QueueDiscItem> item)
{
    CheckVerdict(port, true, item);
}

static void
OnDropped(uint32_t port, Ptr<const QueueDiscItem> item, const char*)
{
    CheckVerdict(port, false, item);
}

static std::string
ReadFile(const std::string& path)
{
    std::ifstream file(path);
    NS_ABORT_MSG_UNLESS(file, "cannot read " << path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/* Reads lines src,dst,size_bytes,start_ns,class with hosts h0, h1 ... below a line of names. */
static void
ReadFlows(const std::string& path)
{
    std::istringstream lines(ReadFile(path));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line))
    {
        std::istringstream cells(line);
        std::string from, to, bytes, start;
        Flow flow;
        std::getline(cells, from, ',');
        std::getline(cells, to, ',');
        std::getline(cells, bytes, ',');
        std::getline(cells, start, ',');
        std::getline(cells, flow.name, ',');
        flow.from = std::stoul(from.substr(1));
        flow.to = std::stoul(to.substr(1));
        flow.bytes = std::stoull(bytes);
        flow.startNs = std::stoull(start);
        g_flows.push_back(flow);
    }
    g_open = g_flows.size();
}

static void
ConfigureTcp()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1400));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(MilliSeconds(5)));
}

/* Sets priority and flags by the position in the flow, which the sequence number gives. */
static void
Classify(uint64_t pias, uint64_t unscheduled, Ptr<const QueueDiscItem> item, bufferlab_packet& packet)
{
    TcpHeader tcp;
    item->GetPacket()->PeekHeader(tcp);
    uint64_t payload = item->GetPacket()->GetSize() - tcp.GetLength() * 4;
    if (payload == 0)
    {
        packet.tags |= BUFFERLAB_CONTROL;
        return;
    }
    uint64_t sent = tcp.GetSequenceNumber().GetValue() - 1;
    if (pias > 0 && sent >= pias)
    {
        packet.priority = 1;
    }
    if (sent < unscheduled)
    {
        packet.tags |= BUFFERLAB_UNSCHEDULED;
    }
}

static void
Print(Ptr<BufferlabMemory> memory)
{
    std::cout << "src,dst,size_bytes,start_ns,class,fct_ns\n";
    for (const Flow& flow : g_flows)
    {
        int64_t fct = flow.endNs < 0 ? -1 : flow.endNs - static_cast<int64_t>(flow.startNs);
        std::cout << "h" << flow.from << ",h" << flow.to << "," << flow.bytes << "," << flow.startNs
                  << "," << flow.name << "," << fct << "\n";
    }
    memory->Verify();
    const BufferlabMemory::Totals& totals = memory->GetTotals();
    std::cout << "totals arrivals " << totals.arrivals << " drops " << totals.drops << " evictions "
              << totals.evictions << " marks " << totals.marks << " departures "
              << totals.departures << " misordered " << totals.misordered << " peak " << totals.peak
              << " left " << memory->GetOccupancy() << " open " << g_open << " wrong " << g_wrong
              << std::endl;
}

int
main(int argc, char** argv)
{
    std::string switchFile, flowsFile, rate = "10Gbps", delay = "10us";
    uint32_t hosts = 8;
    uint64_t pias = 0, unscheduled = 0;
    bool ecn = false;
    CommandLine line;
    line.AddValue("switch", "TOML file with [switch]", switchFile);
    line.AddValue("flows", "CSV file of flows", flowsFile);
    line.AddValue("hosts", "Number of hosts", hosts);
    line.AddValue("rate", "Rate of every link", rate);
    line.AddValue("delay", "Delay of every link", delay);
    line.AddValue("pias", "Bytes of a flow in queue 0; 0: all", pias);
    line.AddValue("unscheduled", "Bytes of a flow with the tag unscheduled", unscheduled);
    line.AddValue("ecn", "Whether TCP negotiates ECN", ecn);
    line.AddValue("alpha", "Check verdicts of dt with this alpha; 0: no check", g_alpha);
    line.AddValue("buffer", "Buffer (bytes), for the check", g_buffer);
    line.Parse(argc, argv);
    ReadFlows(flowsFile);
    ConfigureTcp();
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));

    NodeContainer nodes, center;
    nodes.Create(hosts);
    center.Create(1);
    PointToPointHelper links;
    links.SetDeviceAttribute("DataRate", StringValue(rate));
    links.SetChannelAttribute("Delay", StringValue(delay));
    NetDeviceContainer ports, cards;
    std::vector<NetDeviceContainer> pairs;
    for (uint32_t host = 0; host < hosts; host++)
    {
        NetDeviceContainer pair = links.Install(nodes.Get(host), center.Get(0));
        // A host's network card can store all packets of its host. A port of the switch stores
        // one packet that has left the memory and waits for the link.
        DynamicCast<PointToPointNetDevice>(pair.Get(0))->GetQueue()->SetMaxSize(
            QueueSize("1000000p"));
        DynamicCast<PointToPointNetDevice>(pair.Get(1))->GetQueue()->SetMaxSize(QueueSize("1p"));
        cards.Add(pair.Get(0));
        ports.Add(pair.Get(1));
        pairs.push_back(pair);
    }
    InternetStackHelper stack;
    stack.Install(nodes);
    stack.Install(center);
    Ptr<BufferlabMemory> memory = BufferlabMemory::FromToml(ReadFile(switchFile), ports);
    memory->SetClassifier([=](Ptr<const QueueDiscItem> item, bufferlab_packet& packet) {
        Classify(pias, unscheduled, item, packet);
    });
    memory->Install();
    for (uint32_t port = 0; g_alpha > 0 && port < ports.GetN(); port++)
    {
        Ptr<TrafficControlLayer> layer = center.Get(0)->GetObject<TrafficControlLayer>();
        Ptr<QueueDisc> disc = layer->GetRootQueueDiscOnDevice(ports.Get(port));
        disc->TraceConnectWithoutContext("Enqueue", MakeBoundCallback(&OnStored, port));
        disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeBoundCallback(&OnDropped, port));
        g_discs.push_back(disc);
    }
    Ipv4AddressHelper addresses;
    std::vector<Ipv4Address> address;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    for (NetDeviceContainer& pair : pairs)
    {
        address.push_back(addresses.Assign(pair).GetAddress(0));
        addresses.NewNetwork();
    }
    TrafficControlHelper().Uninstall(cards);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (size_t index = 0; index < g_flows.size(); index++)
    {
        const Flow& flow = g_flows[index];
        uint16_t port = static_cast<uint16_t>(10000 + index);
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer receiver = sink.Install(nodes.Get(flow.to));
        receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&OnReceived, index));
        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(address[flow.to], port));
        source.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
        source.Install(nodes.Get(flow.from)).Start(NanoSeconds(flow.startNs));
    }
    Simulator::Stop(Seconds(20));
    Simulator::Run();
    Print(memory);
    g_discs.clear();
    Simulator::Destroy();
    memory->Dispose();
    return 0;
}
