// SPDX-License-Identifier: Apache-2.0
#include "alloc/resize.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "alloc/node_choice.h"

namespace corehold {
namespace {

// One set of CPUs being widened.
class Widening {
 public:
  Widening(const Topology& topology, const CpuSet& base, const CpuSet& pool, int count,
           const ResizeOptions& options)
      : topology_(topology),
        options_(options),
        count_(count),
        base_(base),
        pool_((pool & topology.cpus()) - base) {
    options_.take.across_numa = false;  // which node gives how many is decided here
  }

  Result<CpuSet> run(bool evenly) {
    if (options_.whole_cores) TRY(keep_to_whole_cores());
    if (base_.size() == count_) return base_;
    wish_.wanted = count_ - base_.size();
    wish_.group_size = options_.take.group_size;
    wish_.evenly = evenly && !must_add_up();
    wish_.align_by_socket = options_.take.align_by_socket;
    for (const auto& node : topology_.nodes()) {
      wish_.base.push_back(node.cpus.count_common(base_));
      wish_.room.push_back(node.cpus.count_common(pool_));
    }
    if (must_add_up()) {
      wish_.suits = [this](NodeSlots nodes) {
        return take_whole_cores(topology_, pool_ & cpus_of(nodes), wish_.wanted).has_value();
      };
    }
    const auto nodes = NodeChoice(topology_, wish_).run();
    if (!nodes) return too_few();
    return fill(*nodes);
  }

 private:
  // Whether the sizes of cores matter one by one.
  bool must_add_up() const { return options_.whole_cores && !topology_.cores_are_alike(); }

  Error too_few_cores() const {
    return {Code::kUnaligned,
            fmt::format("SMT Alignment Error: not enough free physical CPUs: available physical "
                        "CPUs = {}, requested CPUs = {}, CPUs per core = {}",
                        base_.size() + pool_.size(), count_, topology_.threads_per_core())};
  }

  Error too_few() const {
    if (options_.whole_cores) return too_few_cores();
    return {Code::kExhausted,
            fmt::format("not enough cpus available to satisfy request: requested={}, available={}",
                        count_, base_.size() + pool_.size())};
  }

  Result<void> keep_to_whole_cores() {
    const int threads = topology_.threads_per_core();
    if (topology_.cores_are_alike() && count_ % threads != 0) {
      return Error{Code::kUnaligned,
                   fmt::format("SMT Alignment Error: requested {} cpus not multiple cpus per core "
                               "= {}",
                               count_, threads)};
    }
    const CpuSet rest = topology_.whole_cores_touching(base_) - base_;
    const bool completed = rest.is_subset_of(pool_);
    if (completed) base_ |= rest;
    pool_ = topology_.whole_cores_within(pool_ - rest);
    if (!completed || base_.size() > count_) return too_few_cores();
    return {};
  }

  CpuSet cpus_of(NodeSlots nodes) const {
    CpuSet cpus;
    for (; nodes != 0; nodes &= nodes - 1) cpus |= topology_.node(std::countr_zero(nodes)).cpus;
    return cpus;
  }

  // The domains that `cpus` touches.
  template <typename Domains>
  static CpuSet around(const Domains& domains, const CpuSet& cpus) {
    CpuSet all;
    for (const auto& domain : domains) {
      if (domain.cpus.intersects(cpus)) all |= domain.cpus;
    }
    return all;
  }

  Result<CpuSet> fill(NodeSlots nodes) const {
    if (must_add_up()) return fill_with_whole_cores(cpus_of(nodes));
    const auto groups = wish_.evenly ? even_groups(wish_, nodes) : std::nullopt;
    if (!groups) return fill_packed(base_, pool_ & cpus_of(nodes), count_);
    CpuSet filled;
    for (; nodes != 0; nodes &= nodes - 1) {
      const int slot = std::countr_zero(nodes);
      const CpuSet& inside = topology_.node(slot).cpus;
      const int count = wish_.base[static_cast<std::size_t>(slot)] +
                        (*groups)[static_cast<std::size_t>(slot)] * wish_.group_size;
      filled |= TRY(fill_packed(base_ & inside, pool_ & inside, count));
    }
    return filled;
  }

  // `taken` and CPUs of `pool` up to `count`, from near to far.
  Result<CpuSet> fill_packed(CpuSet taken, const CpuSet& pool, int count) const {
    const auto take_from = [&](const CpuSet& where) -> Result<void> {
      const CpuSet open = (pool & where) - taken;
      const int wanted = count - taken.size();
      if (wanted < 1 || open.empty()) return {};
      if (open.size() <= wanted) {
        taken |= open;
      } else {
        taken |= TRY(take_by_topology(topology_, open, wanted, options_.take));
      }
      return {};
    };
    const CpuSet old = around(topology_.nodes(), taken);
    if (options_.take.order == CpuOrder::kPacked && !options_.whole_cores) {
      TRY(take_from(topology_.whole_cores_touching(taken)));
    }
    if (options_.take.prefer_uncore) TRY(take_from(around(topology_.uncores(), taken)));
    TRY(take_from(old));
    TRY(take_from(topology_.cpus()));
    return taken;
  }

  // Where cores differ in size: as many CPUs as can be from the nodes that are there.
  Result<CpuSet> fill_with_whole_cores(const CpuSet& where) const {
    const CpuSet near = pool_ & around(topology_.nodes(), base_);
    const CpuSet pool = pool_ & where;
    int part = std::min(wish_.wanted, near.size());
    for (int tries = topology_.threads_per_core(); tries > 0 && part > 0; --tries, --part) {
      const auto first = take_whole_cores(topology_, near, part);
      if (!first) continue;
      const auto rest = take_whole_cores(topology_, pool - near, wish_.wanted - part);
      if (rest) return base_ | *first | *rest;
    }
    return base_ | TRY(take_whole_cores(topology_, pool, wish_.wanted));
  }

  const Topology& topology_;
  ResizeOptions options_;
  int count_;
  CpuSet base_;
  CpuSet pool_;
  NodeWish wish_{};
};

Result<void> check(const ResizeOptions& options) {
  if (options.take.group_size >= 1) return {};
  return Error{Code::kInvalid, fmt::format("CPUs in groups of {}", options.take.group_size)};
}

Error not_subset(const char* what, const CpuSet& part, const char* of, const CpuSet& whole) {
  return {Code::kInvalid,
          fmt::format("{} {} are not a subset of {} {}", what, part.str(), of, whole.str())};
}

}  // namespace

Result<CpuSet> grow_by_topology(const Topology& topology, const CpuSet& assigned,
                                const CpuSet& free, int count, const ResizeOptions& options) {
  TRY(check(options));
  if (!assigned.is_subset_of(topology.cpus())) {
    return not_subset("assigned CPUs", assigned, "the machine's", topology.cpus());
  }
  if (assigned.size() > count) {
    return Error{Code::kInvalid, fmt::format("{} CPUs cannot grow from {}, which are {}", count,
                                             assigned.str(), assigned.size())};
  }
  return Widening(topology, assigned, free, count, options).run(options.take.across_numa);
}

Result<CpuSet> shrink_by_topology(const Topology& topology, const CpuSet& assigned,
                                  const CpuSet& promised, int count, const ResizeOptions& options) {
  TRY(check(options));
  if (!promised.is_subset_of(assigned)) {
    return not_subset("promised CPUs", promised, "assigned", assigned);
  }
  if (!assigned.is_subset_of(topology.cpus())) {
    return not_subset("assigned CPUs", assigned, "the machine's", topology.cpus());
  }
  if (count < promised.size() || count > assigned.size()) {
    return Error{Code::kInvalid, fmt::format("{} CPUs are not between promised {} and assigned {}",
                                             count, promised.str(), assigned.str())};
  }
  if (count == assigned.size()) return assigned;
  return Widening(topology, promised, assigned, count, options).run(options.take.across_numa);
}

}  // namespace corehold
