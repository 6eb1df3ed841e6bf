// Files that are read in the background: what is found is the file as it is when it is taken, and nothing else.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runtime/call/ReadAhead.h"
#include "runtime/call/Residency.h"
#include "runtime/io/OpenFile.h"
#include "runtime/io/Version.h"

namespace tenc::rt {
namespace {

constexpr uint8_t kF32 = 2;

class Files : public ::testing::Test {
 protected:
  Files() { EXPECT_TRUE(mkdtemp(folder_.data())); }
  ~Files() override { std::filesystem::remove_all(folder_); }

  std::string path(int i) const { return folder_ + "/" + std::to_string(i) + ".npy"; }
  /// n times `value`; with `settle` a later change will show.
  void write(int i, float value, size_t n, bool settle = true) const {
    const std::vector<float> x(n, value);
    const NamedTensor t{"", {kF32, {static_cast<int64_t>(n)}, x.data()}};
    std::string error;
    ASSERT_TRUE(saveTensors(path(i), "npy", {&t, 1}, {}, error)) << error;
    if (settle) std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  ReadAhead::Wanted wanted(int i, size_t n) const { return {{path(i), "npy", ""}, kF32, {static_cast<int64_t>(n)}}; }

  std::string folder_ = "/tmp/tenc-ahead-XXXXXX";
  CallControl control_;
  const FileAccess access_;
};

std::byte* memoryOf(std::vector<float>& x) { return reinterpret_cast<std::byte*>(x.data()); }

bool isFound(const ReadAhead::Found& found) { return found.inMemory || found.mapped; }

TEST_F(Files, WhatWasBegunIsFound) {
  constexpr size_t kSmall = 1000, kLarge = size_t{3} << 20;  // the second is mapped
  for (const size_t n : {kSmall, kLarge}) {
    for (int i = 0; i < 4; ++i) write(i, static_cast<float>(i + 1), n, i == 3);
    ReadAhead ahead(access_, control_, true);
    std::vector<float> a(n), b(n);
    for (int round = 0; round < 20; ++round) {
      ahead.begin(wanted(round % 4, n), memoryOf(a));
      ahead.begin(wanted((round + 1) % 4, n), memoryOf(b));
      for (const auto& [x, i] : {std::pair(&a, round % 4), std::pair(&b, (round + 1) % 4)}) {
        const ReadAhead::Found found = ahead.take(wanted(i, n), memoryOf(*x));
        ASSERT_EQ(found.inMemory, n == kSmall);
        ASSERT_EQ(found.mapped.has_value(), n == kLarge);
        const auto* read = found.mapped ? reinterpret_cast<const float*>(found.mapped->elements()) : x->data();
        EXPECT_EQ(read[0], static_cast<float>(i + 1));
        EXPECT_EQ(read[n - 1], static_cast<float>(i + 1));
      }
    }
  }
}

TEST_F(Files, WhatIsNotTheFileIsNotFound) {
  constexpr size_t kCount = 1000;
  std::vector<float> x(kCount);
  ReadAhead ahead(access_, control_, true);
  const auto begun = [&](int i) {
    ahead.begin(wanted(i, kCount), memoryOf(x));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_FALSE(isFound(ahead.take(wanted(0, kCount), memoryOf(x)))) << "nothing was begun";
  begun(0);
  EXPECT_FALSE(isFound(ahead.take(wanted(0, kCount), memoryOf(x)))) << "there is no file";
  write(0, 1, kCount);
  begun(0);
  EXPECT_FALSE(isFound(ahead.take(wanted(1, kCount), memoryOf(x)))) << "another was begun";
  begun(0);
  EXPECT_FALSE(isFound(ahead.take(wanted(0, kCount - 1), memoryOf(x)))) << "another shape";
  begun(0);
  write(0, 2, kCount);
  EXPECT_TRUE(!isFound(ahead.take(wanted(0, kCount), memoryOf(x))) || x[0] == 2.0f) << "it has changed";
  begun(0);
  std::filesystem::remove(path(0));
  EXPECT_FALSE(isFound(ahead.take(wanted(0, kCount), memoryOf(x)))) << "it is gone";
  write(0, 3, kCount);
  begun(0);
  std::filesystem::resize_file(path(0), 200);
  EXPECT_FALSE(isFound(ahead.take(wanted(0, kCount), memoryOf(x)))) << "it is cut short";
  for (int round = 0; round < 50; ++round) {
    const auto start = std::chrono::steady_clock::now();
    write(0, 4, kCount, false);
    ahead.begin(wanted(0, kCount), memoryOf(x));
    const bool found = isFound(ahead.take(wanted(0, kCount), memoryOf(x)));
    if (std::chrono::steady_clock::now() - start > std::chrono::milliseconds(8)) continue;  // it may have been late
    EXPECT_FALSE(found) << "a change would not have shown";
    break;
  }
  write(0, 5, kCount);
  begun(0);
  ahead.end(memoryOf(x));
  EXPECT_FALSE(isFound(ahead.take(wanted(0, kCount), memoryOf(x)))) << "it was ended";
}

TEST_F(Files, NothingIsReadWhereThatIsNotAllowed) {
  write(0, 1, 10);
  std::vector<float> x(10);
  ReadAhead ahead(access_, control_, false);
  ahead.begin(wanted(0, 10), memoryOf(x));
  EXPECT_FALSE(isFound(ahead.take(wanted(0, 10), memoryOf(x))));
  EXPECT_EQ(x[0], 0.0f);
}

/// Memory may be used for something else as soon as `end`, `stop` and the destructor return.
TEST_F(Files, WhatIsEndedTouchesNothing) {
  constexpr size_t kCount = 900'000;
  write(0, 1, kCount);
  for (int round = 0; round < 30; ++round) {
    std::vector<float> x(kCount), y(kCount);
    ReadAhead ahead(access_, control_, true);
    ahead.begin(wanted(0, kCount), memoryOf(x));
    ahead.begin(wanted(0, kCount), memoryOf(y));
    std::this_thread::sleep_for(std::chrono::microseconds(100 * (round % 10)));
    ahead.end(memoryOf(x));
    std::fill(x.begin(), x.end(), 7.0f);
    if (round % 2 == 0) ahead.stop();
    if (round % 2 == 0) std::fill(y.begin(), y.end(), 7.0f);
    EXPECT_EQ(x[kCount - 1], 7.0f);
  }
}

TEST_F(Files, AnInterruptEndsTheWait) {
  constexpr size_t kCount = 900'000;
  write(0, 1, kCount);
  control_.interrupt();
  std::vector<float> x(kCount);
  ReadAhead ahead(access_, control_, true);
  for (int round = 0; round < 20; ++round) {
    ahead.begin(wanted(0, kCount), memoryOf(x));
    ahead.take(wanted(0, kCount), memoryOf(x));
    std::fill(x.begin(), x.end(), 7.0f);
  }
}

TEST_F(Files, PartsOfAnOpenFile) {
  constexpr size_t kCount = 100'000, kPart = 1000, kAt = 40'000;
  write(0, 2, kCount);
  FileReader reader(access_);
  std::string error;
  ASSERT_EQ(reader.opened(), nullptr) << "none was read";
  const auto header = reader.header({path(0), "npy", ""}, error);
  ASSERT_TRUE(header) << error;
  const auto file = reader.opened();
  ASSERT_TRUE(file);
  std::vector<float> x(kPart);
  file->expect(kAt, kPart * sizeof(float));
  ASSERT_TRUE(file->read(kAt, kPart * sizeof(float), x.data(), error)) << error;
  EXPECT_EQ(x, std::vector<float>(kPart, 2.0f));
  // The file of before, when another takes its name.
  write(1, 3, kCount);
  std::filesystem::rename(path(1), path(0));
  EXPECT_TRUE(file->read(kAt, kPart * sizeof(float), x.data(), error));
  EXPECT_EQ(x, std::vector<float>(kPart, 2.0f));
  // A shorter one is an error that names it, and never taken as read.
  ASSERT_TRUE(reader.header({path(0), "npy", ""}, error));
  const auto replaced = reader.opened();
  ASSERT_TRUE(replaced);
  std::filesystem::resize_file(path(0), kAt + 100);
  EXPECT_FALSE(replaced->readCached(kAt, kPart * sizeof(float), x.data()));
  EXPECT_FALSE(replaced->read(kAt, kPart * sizeof(float), x.data(), error));
  EXPECT_NE(error.find(path(0)), std::string::npos) << error;
}

TEST_F(Files, PagesOfMappedFilesComeAndGo) {
  constexpr size_t kCount = size_t{8} << 20;
  write(0, 3, kCount);
  FileReader reader(access_);
  ReadAhead ahead(access_, control_, true);
  Residency residency(1);  // always too much
  for (int round = 0; round < 5; ++round) {
    auto file = reader.map({path(0), "npy", ""}, kF32, {static_cast<int64_t>(kCount)}, false);
    ASSERT_TRUE(file);
    residency.watch(*file);
    std::vector<ReadAhead::Part> rows;
    for (size_t i = 0; i < 100; ++i) rows.push_back({i * 300'000, 4000});
    ahead.bringIn(file->elements(), rows);
    ahead.bringIn(reader.opened(), std::move(rows));
    const auto* x = reinterpret_cast<const float*>(file->elements());
    for (size_t i = 0; i < kCount; i += 512) ASSERT_EQ(x[i], 3.0f);
    residency.forget(*file);
  }
}

}  // namespace
}  // namespace tenc::rt
