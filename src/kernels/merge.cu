#include "kernels/merge.h"

#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/launch.cuh"
#include "qw/core/error.h"

namespace qw::kernels {
namespace {

// Functions of the driver, whose kernels may come from any library; asked for at run time, so that nothing
// needs libcuda to link.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  check_cuda(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status), name);
  if (found == nullptr) fail(std::string("CUDA: the driver has no ") + name);
  return reinterpret_cast<Function>(found);
}

void check_driver(CUresult status, const char* doing) {
  if (status != CUDA_SUCCESS)
    fail(std::string("CUDA: ") + doing + ": driver error " + std::to_string(static_cast<int>(status)));
}

struct Driver {
  decltype(&cuGraphKernelNodeGetParams) kernel_params =
      driver_function<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams", 12000);
  decltype(&cuGraphAddKernelNode) add_kernel =
      driver_function<decltype(&cuGraphAddKernelNode)>("cuGraphAddKernelNode", 12000);
  decltype(&cuKernelGetFunction) function_of =
      driver_function<decltype(&cuKernelGetFunction)>("cuKernelGetFunction", 12000);
  decltype(&cuFuncGetName) name = driver_function<decltype(&cuFuncGetName)>("cuFuncGetName", 12030);

  std::string name_of(CUfunction function) const {
    const char* text = nullptr;
    check_driver(name(&text, function), "asking for a kernel's name");
    return text;
  }
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

struct Remembered {
  std::mutex changing;
  std::vector<MergeableKernel> kernels;
  std::map<std::string, MergeableKernel> by_name;  // those of `kernels` that were looked up
};

Remembered& remembered() {
  static Remembered all;
  return all;
}

std::map<std::string, MergeableKernel> kernels_by_name() {
  Remembered& all = remembered();
  const std::lock_guard<std::mutex> lock(all.changing);
  for (const MergeableKernel& kernel : all.kernels) {
    cudaFunction_t function = nullptr;
    check_cuda(cudaGetFuncBySymbol(&function, kernel.one), "looking up a kernel");
    all.by_name[driver().name_of(function)] = kernel;
  }
  all.kernels.clear();
  return all.by_name;
}

// The nodes of a graph in the order in which they run; empty when it is not a chain.
std::vector<cudaGraphNode_t> chain_of(cudaGraph_t graph) {
  size_t count = 0, edges = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "reading a graph");
  check_cuda(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges), "reading a graph");
  if (count == 0 || edges + 1 != count) return {};
  std::vector<cudaGraphNode_t> nodes(count), from(edges), to(edges);
  std::vector<cudaGraphEdgeData> data(edges);
  check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "reading a graph");
  check_cuda(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &edges), "reading a graph");
  std::map<cudaGraphNode_t, cudaGraphNode_t> next;
  std::set<cudaGraphNode_t> has_previous(to.begin(), to.end());
  for (size_t i = 0; i < edges; ++i) {
    if (data[i].type != 0 || data[i].from_port != 0) return {};  // not a plain "after"
    next[from[i]] = to[i];
  }
  std::vector<cudaGraphNode_t> chain;
  for (const cudaGraphNode_t node : nodes) {
    if (!has_previous.contains(node)) chain.push_back(node);
  }
  if (chain.size() != 1 || next.size() != edges) return {};
  for (auto found = next.find(chain.back()); found != next.end(); found = next.find(chain.back())) {
    chain.push_back(found->second);
  }
  return chain;
}

cudaGraphNodeType type_of(cudaGraphNode_t node) {
  cudaGraphNodeType type;
  check_cuda(cudaGraphNodeGetType(node, &type), "reading a graph");
  return type;
}

struct KernelNode {
  CUDA_KERNEL_NODE_PARAMS launch;
  std::string name;
};

KernelNode kernel_of(cudaGraphNode_t node) {
  KernelNode kernel;
  check_driver(driver().kernel_params(node, &kernel.launch), "reading a kernel of a graph");
  CUfunction function = kernel.launch.func;
  if (function == nullptr) {
    check_driver(driver().function_of(&function, kernel.launch.kern), "reading a kernel of a graph");
    kernel.launch.func = function;
    kernel.launch.kern = nullptr;
    kernel.launch.ctx = nullptr;
  }
  kernel.name = driver().name_of(function);
  return kernel;
}

// A graph under construction that takes over chains, kSlots at a time.
class Merger {
 public:
  explicit Merger(MergeReport& report) : report_(report), known_(kernels_by_name()) {
    check_cuda(cudaGraphCreate(&graph_, 0), "making a graph");
  }
  Merger(const Merger&) = delete;
  Merger& operator=(const Merger&) = delete;
  ~Merger() { cudaGraphDestroy(graph_); }

  using Nodes = std::vector<cudaGraphNode_t>;

  // Chains of the same length, place by place. False when a node is of a kind that cannot be taken over.
  bool add_chains(std::span<const Nodes> chains) {
    last_.clear();
    for (size_t place = 0; place < chains.front().size(); ++place) {
      Nodes nodes;
      for (const Nodes& chain : chains) nodes.push_back(chain[place]);
      if (!add(nodes)) return false;
    }
    return true;
  }

  void add_whole(cudaGraph_t graph) {
    cudaGraphNode_t node;
    check_cuda(cudaGraphAddChildGraphNode(&node, graph_, nullptr, 0, graph), "adding a graph");
    ++report_.left;
  }

  ReadyGraph ready() const {
    cudaGraphExec_t exec = nullptr;
    check_cuda(cudaGraphInstantiate(&exec, graph_, 0), "preparing a graph");
    return exec;
  }

 private:
  bool add(const Nodes& nodes) {
    const cudaGraphNodeType type = type_of(nodes.front());
    for (const cudaGraphNode_t node : nodes) {
      if (type_of(node) != type) return false;
    }
    Nodes added;
    switch (type) {
      case cudaGraphNodeTypeKernel:
        added = add_kernels(nodes);
        break;
      case cudaGraphNodeTypeMemset:
        for (const cudaGraphNode_t node : nodes) added.push_back(add_memset(node));
        break;
      case cudaGraphNodeTypeMemcpy:
        for (const cudaGraphNode_t node : nodes) added.push_back(add_memcpy(node));
        break;
      case cudaGraphNodeTypeEmpty:
        return true;
      default:
        return false;
    }
    report_.left += static_cast<int64_t>(added.size());
    last_ = added;
    return true;
  }

  Nodes add_kernels(const Nodes& nodes) {
    std::vector<KernelNode> kernels;
    for (const cudaGraphNode_t node : nodes) kernels.push_back(kernel_of(node));
    const auto found = known_.find(kernels.front().name);
    const bool same = std::all_of(kernels.begin(), kernels.end(), [&](const KernelNode& other) {
      return other.name == kernels.front().name &&
             other.launch.sharedMemBytes == kernels.front().launch.sharedMemBytes;
    });
    if (nodes.size() > 1 && found != known_.end() && same) return {add_common_launch(found->second, kernels)};
    Nodes added;
    for (size_t i = 0; i < nodes.size(); ++i) added.push_back(add_kernel(nodes[i], kernels[i].launch));
    return added;
  }

  cudaGraphNode_t add_kernel(cudaGraphNode_t from, const CUDA_KERNEL_NODE_PARAMS& launch) {
    cudaGraphNode_t node;
    check_driver(driver().add_kernel(&node, graph_, last_.data(), last_.size(), &launch), "adding a kernel");
    check_cuda(cudaGraphKernelNodeCopyAttributes(from, node), "adding a kernel");
    return node;
  }

  cudaGraphNode_t add_common_launch(const MergeableKernel& kernel, const std::vector<KernelNode>& kernels) {
    std::vector<char> slots(static_cast<size_t>(kSlots) * kernel.slot_bytes, 0);
    unsigned blocks = 0;
    for (size_t i = 0; i < kernels.size(); ++i) {
      std::memcpy(slots.data() + i * kernel.slot_bytes, kernels[i].launch.kernelParams[0], kernel.slot_bytes);
      blocks = std::max(blocks, kernels[i].launch.gridDimX);
    }
    void* arguments[] = {slots.data()};
    cudaKernelNodeParams launch{};
    launch.func = const_cast<void*>(kernel.several);
    launch.gridDim = dim3(blocks, static_cast<unsigned>(kernels.size()));
    launch.blockDim = dim3(kernels.front().launch.blockDimX);
    launch.sharedMemBytes = kernels.front().launch.sharedMemBytes;
    launch.kernelParams = arguments;
    cudaGraphNode_t node;
    check_cuda(cudaGraphAddKernelNode(&node, graph_, last_.data(), last_.size(), &launch),
               "adding a common launch");
    return node;
  }

  cudaGraphNode_t add_memset(cudaGraphNode_t from) {
    cudaMemsetParams params;
    check_cuda(cudaGraphMemsetNodeGetParams(from, &params), "reading a graph");
    cudaGraphNode_t node;
    check_cuda(cudaGraphAddMemsetNode(&node, graph_, last_.data(), last_.size(), &params), "adding a memset");
    return node;
  }

  cudaGraphNode_t add_memcpy(cudaGraphNode_t from) {
    cudaMemcpy3DParms params;
    check_cuda(cudaGraphMemcpyNodeGetParams(from, &params), "reading a graph");
    cudaGraphNode_t node;
    check_cuda(cudaGraphAddMemcpyNode(&node, graph_, last_.data(), last_.size(), &params), "adding a copy");
    return node;
  }

  cudaGraph_t graph_ = nullptr;
  Nodes last_;  // what the next waits for
  MergeReport& report_;
  std::map<std::string, MergeableKernel> known_;
};

// Chains of the same length, kSlots at a time. False when they cannot be taken over.
bool merge_chains(std::span<const Merger::Nodes> chains, Merger& merger) {
  for (size_t begin = 0; begin < chains.size(); begin += kSlots) {
    const size_t count = std::min<size_t>(kSlots, chains.size() - begin);
    if (!merger.add_chains(chains.subspan(begin, count))) return false;
  }
  return true;
}

}  // namespace

void check_cuda(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  fail(std::string("CUDA: ") + doing + ": " + cudaGetErrorString(status));
}

bool remember_kernel(const MergeableKernel& kernel) {
  Remembered& all = remembered();
  const std::lock_guard<std::mutex> lock(all.changing);
  all.kernels.push_back(kernel);
  return true;
}

ReadyGraph merge_graphs(const std::vector<CapturedGraph>& graphs, MergeReport& report) {
  std::vector<std::vector<cudaGraphNode_t>> chains;
  for (const CapturedGraph graph : graphs) {
    chains.push_back(chain_of(graph));
    size_t count = 0;
    check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "reading a graph");
    report.nodes += static_cast<int64_t>(count);
  }
  const bool alike = std::all_of(chains.begin(), chains.end(), [&](const auto& chain) {
    return !chain.empty() && chain.size() == chains.front().size();
  });
  if (alike) {
    MergeReport tried = report;
    Merger merger(tried);
    if (merge_chains(chains, merger)) {
      report = tried;
      return merger.ready();
    }
  }
  Merger side_by_side(report);
  for (const CapturedGraph graph : graphs) side_by_side.add_whole(graph);
  return side_by_side.ready();
}

void launch_graph(ReadyGraph graph, Stream stream) {
  check_cuda(cudaGraphLaunch(graph, stream), "replaying a graph");
}

void destroy_graph(ReadyGraph graph) { cudaGraphExecDestroy(graph); }

}  // namespace qw::kernels
