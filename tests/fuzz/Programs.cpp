#include "tests/fuzz/Programs.h"

#include <limits>

#include "runtime/file/Archive.h"
#include "runtime/file/Checksum.h"
#include "runtime/file/Fields.h"
#include "runtime/file/ProgramFile.h"

namespace tenc::fuzz {
namespace {

// The header of a file (ProgramFile.cpp).
constexpr size_t kCodeSize = 16, kPlanSum = 40, kHeader = 48;

/// An archive (runtime/file/Fields.h) that changes one of the values that it visits: the one of number `target`.
class Changer {
 public:
  static constexpr size_t kNone = ~size_t{0};
  explicit Changer(Mutator& choose, size_t target = kNone) : choose_(choose), target_(target) {}
  void operator()(auto&... values) { (item(values), ...); }
  void kernels(std::vector<abi::Kernel>& list) {
    for (abi::Kernel& k : list) {
      item(k.name);
      item(k.sites);
      if (auto* call = std::get_if<abi::LibraryCall>(&k.code)) item(*call);
    }
  }
  size_t visited() const { return visited_; }

 private:
  bool isChosen() { return visited_++ == target_; }

  template <rt::Number T>
  void item(T& n) {
    if (!isChosen()) return;
    const auto old = static_cast<uint64_t>(n);
    const uint64_t others[] = {0,
                               1,
                               ~uint64_t{0},
                               old + 1,
                               old - 1,
                               old ^ uint64_t{1} << choose_.below(8 * sizeof n),
                               old * 2,
                               old / 2,
                               old + 64,
                               old - 64,
                               choose_.below(16),
                               uint64_t{1} << choose_.below(64),
                               (uint64_t{1} << choose_.below(64)) - 1,
                               ~uint64_t{0} / 64 * 64};
    n = static_cast<T>(others[choose_.below(std::size(others))]);
  }
  void item(std::string& text) {
    if (!isChosen()) return;
    static constexpr std::string_view kOthers[] = {
        "",        "cpu",  "cuda:0", "cuda:9",      "sort",  "topk",       "k",
        "largest", "full", "text",   "@",           ".3f",   "9999.9999f", "npy",
        "csv",     "png",  "npz",    "safetensors", "x.npy", "/dev/zero",  "\x1b[31m\xff"};
    switch (choose_.below(3)) {
      case 0: text = kOthers[choose_.below(std::size(kOthers))]; break;
      case 1:
        text.insert(choose_.below(text.size() + 1), 1 + choose_.below(300), static_cast<char>(choose_.below(256)));
        break;
      default:
        if (!text.empty()) text[choose_.below(text.size())] ^= static_cast<char>(1u << choose_.below(8));
    }
  }
  template <typename T>
  void item(std::vector<T>& list) {
    if (isChosen()) {
      const auto at = [&] { return list.begin() + static_cast<std::ptrdiff_t>(choose_.below(list.size())); };
      switch (list.empty() ? 0 : choose_.below(5)) {
        case 0: list.emplace_back(); break;
        case 1: list.erase(at()); break;
        case 2: list.push_back(T(*at())); break;
        case 3: std::swap(*at(), *at()); break;
        default: list.clear();
      }
    }
    for (T& x : list) item(x);
  }
  template <typename T, size_t N>
  void item(T (&list)[N]) {
    for (T& x : list) item(x);
  }
  template <typename A, typename B>
  void item(std::pair<A, B>& p) {
    (*this)(p.first, p.second);
  }
  template <typename T>
  void item(std::optional<T>& x) {
    if (isChosen()) x ? x.reset() : static_cast<void>(x.emplace());
    if (x) item(*x);
  }
  template <typename... T>
  void item(std::variant<T...>& v) {
    if (isChosen()) {
      const size_t kind = choose_.below(sizeof...(T));
      size_t i = 0;
      ((i++ == kind ? static_cast<void>(v.template emplace<T>()) : void()), ...);
    }
    std::visit([this](auto& x) { this->item(x); }, v);
  }
  template <typename T>
    requires std::is_class_v<T>
  void item(T& x) {
    rt::fields(*this, x);
  }

  Mutator& choose_;
  const size_t target_;
  size_t visited_ = 0;
};

void visit(Changer& changer, abi::Program& p) {
  rt::planFields(changer, p);
  changer.kernels(p.kernels);
}

std::string withFieldsChanged(abi::Program p, Mutator& choose) {
  const size_t times = 1 + choose.below(3);
  for (size_t i = 0; i < times; ++i) {
    Changer count(choose);
    visit(count, p);
    Changer change(choose, choose.below(count.visited()));
    visit(change, p);
  }
  return rt::writeProgram(p);
}

void flip(std::string& file, size_t from, Mutator& choose) {
  for (size_t i = choose.below(8) + 1; i > 0 && from < file.size(); --i)
    file[from + choose.below(file.size() - from)] ^= static_cast<char>(1u << choose.below(8));
}

}  // namespace

std::string changedProgram(const std::string& file, Mutator& choose) {
  std::string error, out = file;
  const auto program = rt::readProgram(file, error);
  if (program && choose.chance(0.7)) return withFieldsChanged(*program, choose);
  if (choose.chance(0.4)) {
    if (choose.chance(0.5)) out.resize(choose.below(out.size()));
    flip(out, choose.chance(0.5) ? 0 : choose.below(out.size()), choose);
    return out;
  }
  uint64_t code = 0;
  std::memcpy(&code, out.data() + kCodeSize, sizeof code);
  const size_t plan = kHeader + code;
  flip(out, plan, choose);
  const uint64_t sum = rt::checksum(std::string_view(out).substr(plan));
  std::memcpy(out.data() + kPlanSum, &sum, sizeof sum);
  return out;
}

}  // namespace tenc::fuzz
