// Values to bytes and back: numbers, texts, lists, and whatever Fields.h takes apart.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tenc::rt {

template <typename T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  void operator()(const auto&... values) { (item(values), ...); }
  std::string take() { return std::move(bytes_); }

 private:
  void item(Number auto number) {
    const auto bits = static_cast<uint64_t>(number);
    for (size_t i = 0; i < sizeof number; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
  }
  void item(const std::string& text) {
    item(uint64_t{text.size()});
    bytes_ += text;
  }
  template <typename T>
  void item(const std::vector<T>& list) {
    item(uint64_t{list.size()});
    for (const T& x : list) item(x);
  }
  template <typename T, size_t N>
  void item(const T (&list)[N]) {
    for (const T& x : list) item(x);
  }
  template <typename A, typename B>
  void item(const std::pair<A, B>& p) {
    (*this)(p.first, p.second);
  }
  template <typename T>
  void item(const std::optional<T>& x) {
    item(x.has_value());
    if (x) item(*x);
  }
  template <typename... T>
  void item(const std::variant<T...>& v) {
    item(static_cast<uint8_t>(v.index()));
    std::visit([this](const auto& x) { this->item(x); }, v);
  }
  template <typename T>
    requires std::is_class_v<T>
  void item(const T& x) {
    fields(*this, x);
  }

  std::string bytes_;
};

/// Reads no further after the first mistake; what it has read so far stays. Lists grow by what is there, so that no
/// number in the bytes decides how much memory is taken.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  void operator()(auto&... values) { (item(values), ...); }
  bool good() const { return good_; }
  bool atEnd() const { return rest_.empty(); }

 private:
  static constexpr int kDeepest = 1000;  // lists within lists

  template <Number T>
  void item(T& number) {
    if (!take(sizeof number)) return;
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof number; ++i) bits |= uint64_t{static_cast<unsigned char>(taken_[i])} << (8 * i);
    if constexpr (std::is_same_v<T, bool>) good_ = good_ && bits <= 1;
    number = static_cast<T>(bits);
  }
  void item(std::string& text) {
    uint64_t size = 0;
    item(size);
    if (take(size)) text.assign(taken_);
  }
  template <typename T>
  void item(std::vector<T>& list) {
    uint64_t size = 0;
    item(size);
    good_ = good_ && size <= rest_.size() && depth_ < kDeepest;  // nothing takes less than a byte
    ++depth_;
    for (uint64_t i = 0; good_ && i < size; ++i) item(list.emplace_back());
    --depth_;
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
    bool there = false;
    item(there);
    if (good_ && there) item(x.emplace());
  }
  template <typename... T>
  void item(std::variant<T...>& v) {
    uint8_t kind = 0;
    item(kind);
    good_ = good_ && kind < sizeof...(T);
    if (good_) alternative(v, kind, std::index_sequence_for<T...>());
  }
  template <typename Variant, size_t... I>
  void alternative(Variant& v, size_t kind, std::index_sequence<I...>) {
    ((kind == I ? item(v.template emplace<I>()) : void()), ...);
  }
  template <typename T>
    requires std::is_class_v<T>
  void item(T& x) {
    fields(*this, x);
  }

  bool take(uint64_t bytes) {
    good_ = good_ && bytes <= rest_.size();
    if (!good_) return false;
    taken_ = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_, taken_;
  bool good_ = true;
  int depth_ = 0;
};

}  // namespace tenc::rt
