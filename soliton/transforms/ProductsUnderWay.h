//===- ProductsUnderWay.h - Sums of asynchronous products, by group ------------------===//
//
// While a block is lowered: which sums of matrix instructions nobody may look at yet, oldest group first. A product
// that goes on with the sum of another one takes its place.
//
//   issue c -> 1, issue 1 -> 2, commit, issue d -> 3, commit          groups {2} {3}
//   retire(1)                                                         gives {2}; {3} stays
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLExtras.h"

#include <deque>

namespace soliton {

class ProductsUnderWay {
public:
  bool empty() const { return groups.empty() && open.empty(); }
  /// Whether products were issued that no group has yet.
  bool isOpen() const { return !open.empty(); }
  bool isUnderWay(mlir::Value sum) const {
    return llvm::is_contained(open, sum) ||
           llvm::any_of(groups, [&](const Group &group) { return llvm::is_contained(group, sum); });
  }
  bool allOf(llvm::function_ref<bool(mlir::Value)> holds) const {
    return llvm::all_of(open, holds) &&
           llvm::all_of(groups, [&](const Group &group) { return llvm::all_of(group, holds); });
  }
  mlir::Value anySum() const { return groups.empty() ? open.front() : groups.front().front(); }

  /// A factor in registers belongs to its product until the group is complete.
  void hold(mlir::Value factor) { openFactors.push_back(factor); }

  void issue(mlir::Value acc, mlir::Value sum) {
    llvm::erase(open, acc);
    for (Group &group : groups)
      llvm::erase(group, acc);
    dropEmpty();
    open.push_back(sum);
  }

  void commit() {
    if (!open.empty()) {
      groups.push_back(std::move(open));
      factors.push_back(std::move(openFactors));
    }
    open.clear();
    openFactors.clear();
  }

  /// Factors of all groups but the last `count`, which nobody takes any more then.
  llvm::SmallVector<mlir::Value> release(int64_t count) {
    llvm::SmallVector<mlir::Value> held;
    for (; static_cast<int64_t>(factors.size()) > count; factors.pop_front())
      llvm::append_range(held, factors.front());
    return held;
  }

  /// The sums of all groups but the last `count`; a group that was not committed is not waited for.
  llvm::SmallVector<mlir::Value> retire(int64_t count) {
    llvm::SmallVector<mlir::Value> sums;
    for (; static_cast<int64_t>(groups.size()) > count; groups.pop_front())
      llvm::append_range(sums, groups.front());
    return sums;
  }

  /// Behind a loop: what it yields are its results, and nothing else is left of its body.
  void renameTo(llvm::function_ref<mlir::Value(mlir::Value)> resultOf) {
    auto rename = [&](Group &group) {
      for (mlir::Value &sum : group)
        sum = resultOf(sum);
      llvm::erase(group, mlir::Value());
    };
    rename(open);
    for (Group &group : groups)
      rename(group);
    dropEmpty();
    factors.clear();
    openFactors.clear();
  }

private:
  using Group = llvm::SmallVector<mlir::Value>;

  // A group whose sums all went on in later products: whoever waits for those waits for it.
  void dropEmpty() {
    llvm::erase_if(groups, [](const Group &group) { return group.empty(); });
  }

  std::deque<Group> groups;
  Group open;
  /// By committed group, and of the open one. Behind a loop they are those of its body, and nobody's any more.
  std::deque<Group> factors;
  Group openFactors;
};

} // namespace soliton
