// Which values share memory. Every value in memory has a storage; storages are merged where one value takes over from
// another (in-place results, carried values of loops, results of branches) and their lives allow it.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/KernelSet.h"

namespace tenc::codegen {

/// A copy that a region's end (or a loop's beginning) has to make: value into storage.
struct ValueCopy {
  const ir::Value* from;
  uint32_t to;
};

/// Whether a value is a file as it lies on the disk.
inline bool isMapped(const ir::Value& v) { return v.op && v.op->kind == ir::OpKind::Load && v.op->boolAttr("mapped"); }

class Storage {
 public:
  Storage(const ir::Module& m, const ir::Func& f, const KernelSet& kernels);

  struct Slot {
    uint32_t storage;
    uint64_t byteOffset;
  };
  /// Where a value is: a storage, and how far into it.
  Slot slot(const ir::Value* v) const;
  bool has(const ir::Value* v) const { return roots_.count(v) != 0; }

  struct Item {
    uint64_t bytes = 0;
    uint32_t device = 0;
    int64_t start = 0, end = 0;        ///< hull of the lives of all values in it (and of what it is exchanged with)
    const ir::Value* value = nullptr;  ///< one of them, for people
    uint64_t alignment = 1;            ///< the most that a kernel wants of it, in bytes
    uint64_t gap = 0;                  ///< bytes to be left free behind it
    bool inFile = false;               ///< stays in the file that it is mapped from
  };
  /// Storages after merging; numbers as in Slot. Unused ones have 0 bytes.
  const std::vector<Item>& items() const { return items_; }
  uint32_t deviceCount() const { return static_cast<uint32_t>(devices_.size()); }
  const std::vector<std::string>& devices() const { return devices_; }
  uint32_t deviceOf(const ir::Value* v) const;

  /// The value that is in a storage at a time of its life.
  const ir::Value* valueAt(uint32_t storage, int64_t time) const;
  /// The last op that begins at or before a time; null before the first.
  const ir::Op* opAt(int64_t time) const;

  /// For an update whose result is not where the old value is: copy first.
  bool copiesFirst(const ir::Op& op, uint32_t operand, uint32_t result) const;
  /// Copies before a loop (initial values), at the end of each trip, and at the end of a branch.
  const std::vector<ValueCopy>& copiesBefore(const ir::Op& loop) const { return list(before_, &loop); }
  const std::vector<ValueCopy>& copiesAtEnd(const ir::Region& r) const { return list(atEnd_, &r); }
  const std::vector<std::pair<uint32_t, uint32_t>>& swaps(const ir::Op& loop) const { return list(swaps_, &loop); }
  /// A storage of its own for a value on its way through parallel copies at `op`.
  uint32_t temporary(const ir::Value* v, const ir::Op& at);
  /// Memory that the kernel of a fused op works in while it runs.
  uint32_t workspace(const ir::Op& fused, uint64_t bytes, uint32_t device);

 private:
  /// A value that several branches of one `if` use lives in each of them, and not in between: only one of them runs.
  struct Life {
    int64_t start, end;
    const ir::Value* value;
    int64_t choice = -1;  ///< the position of the `if` in one of whose branches it begins
  };
  /// The branch that is being numbered.
  struct Branch {
    int64_t choice, start;
    bool first;
  };
  struct Class {
    uint32_t parent;
    uint64_t bytes;
    uint32_t device;
    bool pinned = false, frozen = false;
    std::vector<Life> lives;
  };

  template <typename M, typename K>
  static const typename M::mapped_type& list(const M& map, const K* key) {
    static const typename M::mapped_type kEmpty{};
    auto it = map.find(key);
    return it == map.end() ? kEmpty : it->second;
  }
  uint32_t find(uint32_t c) const;
  uint32_t classOf(const ir::Value* v) const { return find(classes_.at(roots_.at(v).first)); }
  const ir::Value* root(const ir::Value* v) const {
    auto it = roots_.find(v);
    return it == roots_.end() ? v : it->second.first;
  }
  bool whole(const ir::Value* v) const;
  bool isOnHost(const ir::Type& t) const;
  bool staysInFile(uint32_t c) const;

  void number(const ir::Region& r);
  void define(const ir::Value* v, int64_t start);
  void alias(const ir::Value* v, const ir::Value* of, uint64_t byteOffset);
  void use(const ir::Value* v, int64_t at);
  void closeBranches(Class& c) const;
  void extend(const ir::Value* v, int64_t end);
  bool tryMerge(uint32_t a, uint32_t b);
  bool conflict(const Class& a, const Class& b) const;
  bool handsOver(const Life& x, const Life& y) const;
  bool inPlace(const ir::Op& op, const ir::Value* from, const ir::Value* to) const;
  void join(uint32_t a, uint32_t b);
  void mergeLoops(const ir::Region& r);
  void mergeUpdates(const ir::Region& r);
  void mergeCarried(const ir::Region& r);
  void mergeCarriedOf(const ir::Op& op);
  void planExchanges(const ir::Region& r);
  void reuse(const ir::Region& r);
  void writtenBy(uint32_t c, int64_t time);
  void finish();
  void align();

  const ir::Module& m_;
  const KernelSet& kernels_;
  std::vector<std::string> devices_;
  std::unordered_map<const ir::Value*, std::pair<const ir::Value*, uint64_t>> roots_;
  std::unordered_map<const ir::Value*, uint32_t> classes_;  // of roots
  std::vector<Class> all_;
  std::vector<Branch> branches_;                            // around the op that is being numbered
  std::unordered_map<const ir::Op*, int64_t> begin_, end_;  // positions
  std::unordered_map<const ir::Op*, std::vector<ValueCopy>> before_;
  std::unordered_map<const ir::Region*, std::vector<ValueCopy>> atEnd_;
  std::unordered_map<const ir::Op*, std::vector<std::pair<uint32_t, uint32_t>>> swaps_;
  std::unordered_map<uint32_t, int64_t> written_;
  std::vector<Item> items_;
  int64_t clock_ = 0;
};

}  // namespace tenc::codegen
