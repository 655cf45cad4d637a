// SPDX-License-Identifier: Apache-2.0
#include "alloc/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace corehold {
namespace {

double round_to_thousandths(double number) { return std::round(number * 1000) / 1000; }

double deviation(const std::vector<int>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const int value : values) sum += value;
  const double mean = round_to_thousandths(sum / count);
  double squares = 0;
  for (const int value : values) squares += (value - mean) * (value - mean);
  return round_to_thousandths(std::sqrt(squares / count));
}

// Calls visit with every choice of `count` items, in order, until it returns false.
bool each_choice(const std::vector<int>& items, std::size_t count, std::size_t first,
                 std::vector<int>& chosen,
                 const std::function<bool(const std::vector<int>&)>& visit) {
  if (chosen.size() == count) return visit(chosen);
  for (std::size_t i = first; i < items.size(); ++i) {
    chosen.push_back(items[i]);
    const bool go_on = each_choice(items, count, i + 1, chosen, visit);
    chosen.pop_back();
    if (!go_on) return false;
  }
  return true;
}

class Reference {
 public:
  Reference(const Topology& topology, const CpuSet& available, int count, CpuOrder order)
      : topology_(topology), free_(available & topology.cpus()), needed_(count), order_(order) {
    for (std::size_t i = 0; i < topology.cores().size(); ++i) {
      CpuSet cpus;
      for (const CpuId cpu : topology.cores()[i].cpus) cpus.insert(cpu);
      cores_.push_back(cpus);
    }
  }

  std::optional<CpuSet> packed(bool prefer_uncore) {
    if (needed_ > 0 && needed_ > free_.size()) return std::nullopt;
    const int per_socket = topology_.cpu_count() / number(topology_.sockets());
    const int per_core = topology_.cpu_count() / number(topology_.cores());
    const auto full_sockets = [&] {
      for (const int s : sockets()) {
        take_if_free(topology_.socket(s).cpus, per_socket);
      }
    };
    const auto full_nodes = [&] {
      for (const int n : nodes()) take_if_free(topology_.node(n).cpus, topology_.node(n).size);
    };
    if (nodes_first()) {
      full_nodes();
      full_sockets();
    } else {
      full_sockets();
      full_nodes();
    }
    if (prefer_uncore) take_uncores(per_core);
    if (order_ == CpuOrder::kPacked) {
      for (const int c : cores()) take_if_free(cores_[static_cast<std::size_t>(c)], per_core);
    }
    for (const CpuId cpu : single_cpus()) {
      if (needed_ > 0) take({cpu});
    }
    return result_;
  }

  std::optional<CpuSet> distributed(int group, bool align) {
    const int count = needed_;
    if (count % group != 0) return packed(false);
    if (count < 1) return CpuSet{};
    if (count > free_.size()) return std::nullopt;
    const std::vector<int> all = nodes();
    const int groups = (count - 1) / group + 1;
    const int per_node = ((topology_.cpu_count() - 1) / group) / number(topology_.nodes()) + 1;
    for (int k = (groups - 1) / per_node + 1; k <= std::min(groups, static_cast<int>(all.size()));
         ++k) {
      if (!weigh(all, static_cast<std::size_t>(k), count, group, align)) return std::nullopt;
      if (!best_.empty()) return hand_out(count, group);
    }
    return packed(false);
  }

 private:
  template <typename Items>
  static int number(const Items& items) {
    return static_cast<int>(items.size());
  }

  bool nodes_first() const { return topology_.sockets().size() >= topology_.nodes().size(); }
  int free_in(const CpuSet& cpus) const { return free_.count_common(cpus); }
  int free_in_node(int node) const { return free_in(topology_.node(node).cpus); }

  void take(const CpuSet& cpus) {
    result_ |= cpus;
    free_ -= cpus;
    needed_ -= cpus.size();
  }
  void take_if_free(const CpuSet& cpus, int size_when_free) {
    if (free_in(cpus) == size_when_free && needed_ >= cpus.size()) take(cpus);
  }

  std::vector<int> sorted(std::vector<int> slots,
                          const std::function<const CpuSet&(int)>& cpus) const {
    std::erase_if(slots, [&](int slot) { return free_in(cpus(slot)) == 0; });
    std::sort(slots.begin(), slots.end(), [&](int a, int b) {
      return std::pair(free_in(cpus(a)), a) < std::pair(free_in(cpus(b)), b);
    });
    return slots;
  }
  static std::vector<int> upto(std::size_t count) {
    std::vector<int> slots;
    for (std::size_t i = 0; i < count; ++i) slots.push_back(static_cast<int>(i));
    return slots;
  }
  std::vector<int> nodes() const {
    const auto cpus = [this](int n) -> const CpuSet& { return topology_.node(n).cpus; };
    if (nodes_first()) return sorted(upto(topology_.nodes().size()), cpus);
    std::vector<int> list;
    for (const int s : sockets()) {
      for (const int n : sorted(topology_.socket(s).nodes, cpus)) list.push_back(n);
    }
    return list;
  }
  std::vector<int> sockets() const {
    const auto cpus = [this](int s) -> const CpuSet& { return topology_.socket(s).cpus; };
    if (!nodes_first()) return sorted(upto(topology_.sockets().size()), cpus);
    std::vector<int> list;
    for (const int n : nodes()) {
      for (const int s : sorted(topology_.node(n).sockets, cpus)) list.push_back(s);
    }
    return list;
  }
  std::vector<int> cores() const {
    std::vector<int> list;
    const auto add = [&](const std::vector<Slot>& some) {
      const auto cpus = [this](int c) -> const CpuSet& {
        return cores_[static_cast<std::size_t>(c)];
      };
      for (const int c : sorted(some, cpus)) list.push_back(c);
    };
    if (nodes_first()) {
      for (const int s : sockets()) add(topology_.socket(s).cores);
    } else {
      for (const int n : nodes()) add(topology_.node(n).cores);
    }
    return list;
  }
  std::vector<CpuId> single_cpus() const {
    std::vector<CpuId> list;
    const auto add = [&](const CpuSet& cpus) {
      for (const CpuId cpu : cpus& free_) list.push_back(cpu);
    };
    if (order_ == CpuOrder::kPacked) {
      for (const int c : cores()) add(cores_[static_cast<std::size_t>(c)]);
    } else {
      for (const int s : sockets()) add(topology_.socket(s).cpus);
    }
    return list;
  }

  void take_uncores(int per_core) {
    const int per_uncore = topology_.cpu_count() / number(topology_.uncores());
    const auto cpus = [this](int u) -> const CpuSet& { return topology_.uncore(u).cpus; };
    std::vector<int> uncores;
    for (const int n : nodes()) {
      for (const int u : sorted(topology_.node(n).uncores, cpus)) uncores.push_back(u);
    }
    for (const int u : uncores) {
      if (needed_ >= per_uncore) {
        for (const int full : uncores) take_if_free(cpus(full), topology_.uncore(full).size);
      }
      if (needed_ < 1) return;
      take_part(u, per_core);
      if (needed_ < 1) return;
    }
  }
  void take_part(int uncore, int per_core) {
    int cores_left = (needed_ + per_core - 1) / per_core;
    CpuSet part;
    for (const Slot c : topology_.uncore(uncore).cores) {
      const CpuSet& cpus = cores_[static_cast<std::size_t>(c)];
      if (free_in(cpus) == 0 || cores_left-- <= 0) continue;
      part |= cpus & free_;
    }
    if (needed_ % 2 != 0 && per_core > 1 && part.size() > needed_) part.erase(part.last());
    if (part.size() == needed_) take(part);
  }

  // False when the kubelet would never return.
  bool weigh(const std::vector<int>& all, std::size_t k, int count, int group, bool align) {
    double best_balance = std::numeric_limits<double>::max();
    bool best_in_one_socket = false;
    bool returns = true;
    std::vector<int> chosen;
    each_choice(all, k, 0, chosen, [&](const std::vector<int>& combo) {
      if (best_balance == 0 && (!align || best_in_one_socket)) return false;
      int groups = 0;
      int even = count / number(combo) / group * group;
      for (const int n : combo) groups += free_in_node(n) / group;
      if (groups * group < count) return true;
      for (const int n : combo) {
        if (align) even = std::min(even, free_in_node(n) / group * group);
        if (free_in_node(n) < even) return true;
      }
      std::vector<int> left(topology_.nodes().size());
      for (const int n : all) left[static_cast<std::size_t>(n)] = free_in_node(n);
      for (const int n : combo) left[static_cast<std::size_t>(n)] -= even;
      double local = std::numeric_limits<double>::max();
      std::vector<int> local_extra;
      const int rest = count - even * number(combo);
      if (rest == 0) {
        local = deviation(pick(left, all));
      } else if (!weigh_extras(all, combo, left, rest, group, local, local_extra)) {
        returns = false;
        return false;
      }
      const bool in_one_socket = align && one_socket(combo);
      bool better = local < best_balance;
      if (align && in_one_socket != best_in_one_socket) better = in_one_socket;
      if (better) {
        best_balance = local;
        best_in_one_socket = in_one_socket;
        best_ = combo;
        best_extra_ = local_extra;
        best_even_ = even;
      }
      return true;
    });
    return returns;
  }
  static std::vector<int> pick(const std::vector<int>& left, const std::vector<int>& all) {
    std::vector<int> values;
    values.reserve(all.size());
    for (const int n : all) values.push_back(left[static_cast<std::size_t>(n)]);
    return values;
  }
  bool one_socket(const std::vector<int>& combo) const {
    CpuSet cpus;
    for (const int n : combo) cpus |= topology_.node(n).cpus;
    int count = 0;
    for (const auto& socket : topology_.sockets()) count += socket.cpus.intersects(cpus) ? 1 : 0;
    return count == 1;
  }
  static bool weigh_extras(const std::vector<int>& all, const std::vector<int>& combo,
                           const std::vector<int>& left, int rest, int group, double& local,
                           std::vector<int>& local_extra) {
    std::vector<int> able;
    for (const int n : combo) {
      if (left[static_cast<std::size_t>(n)] >= group) able.push_back(n);
    }
    bool returns = true;
    for (std::size_t k = able.size(); k >= 1 && returns; --k) {
      std::vector<int> chosen;
      each_choice(able, k, 0, chosen, [&](const std::vector<int>& subset) {
        std::vector<int> after = left;
        int sum = 0;
        int groups = 0;
        for (const int n : subset) {
          sum += after[static_cast<std::size_t>(n)];
          groups += after[static_cast<std::size_t>(n)] / group;
        }
        if (sum < rest) return true;
        if (groups * group < rest) {
          returns = false;
          return false;
        }
        for (int open = rest; open > 0;) {
          for (const int n : subset) {
            if (open == 0 || after[static_cast<std::size_t>(n)] < group) continue;
            after[static_cast<std::size_t>(n)] -= group;
            open -= group;
          }
        }
        const double balance = deviation(pick(after, all));
        if (balance < local) {
          local = balance;
          local_extra = subset;
        }
        return true;
      });
    }
    return returns;
  }

  std::optional<CpuSet> hand_out(int count, int group) {
    const auto take_from = [&](int node, int cpus) {
      Reference inside(topology_, free_ & topology_.node(node).cpus, cpus, order_);
      if (const auto taken = inside.packed(false)) take(*taken);
    };
    for (const int n : best_) take_from(n, best_even_);
    for (int rest = count - best_even_ * number(best_); rest > 0;) {
      for (const int n : best_extra_) {
        if (rest == 0 || free_in_node(n) < group) continue;
        take_from(n, group);
        rest -= group;
      }
    }
    return result_;
  }

  const Topology& topology_;
  CpuSet free_;
  int needed_;
  CpuOrder order_;
  CpuSet result_{};
  std::vector<CpuSet> cores_;
  std::vector<int> best_;
  std::vector<int> best_extra_;
  int best_even_ = 0;
};

}  // namespace

std::optional<CpuSet> reference_take(const Topology& topology, const CpuSet& available, int count,
                                     const TakeOptions& options) {
  Reference reference(topology, available, count, options.order);
  return options.across_numa ? reference.distributed(options.group_size, options.align_by_socket)
                             : reference.packed(options.prefer_uncore);
}

}  // namespace corehold
