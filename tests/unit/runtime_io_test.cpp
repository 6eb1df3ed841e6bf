// Files that change between two looks at them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "runtime/io/Formats.h"
#include "runtime/io/MappedPages.h"
#include "runtime/io/PartFile.h"

namespace tenc::rt {
namespace {

/// A grey picture as a file.
std::vector<std::byte> picture(int64_t height, int64_t width) {
  const std::vector<uint8_t> pixels(static_cast<size_t>(height * width), 7);
  const format::File f(std::tmpfile());
  std::string error;
  EXPECT_TRUE(format::pngSave(f.get(), {8, {height, width}, pixels.data()}, error)) << error;
  std::fflush(f.get());
  const auto bytes = format::FileBytes::of(f.get());
  return bytes->part(0, bytes->size());
}

/// The memory that pixels go to is that of the header: what the bytes say when they are read must be the same.
TEST(Pictures, ThatChangedAreRefused) {
  const std::vector<std::byte> small = picture(3, 5), large = picture(300, 500);
  std::string error;
  const auto header = format::pngHeader(small, error);
  ASSERT_TRUE(header) << error;
  std::vector<uint8_t> out(3 * 5);
  EXPECT_TRUE(format::pngLoad(small, *header, out.data(), error)) << error;
  EXPECT_EQ(out, std::vector<uint8_t>(3 * 5, 7));
  EXPECT_FALSE(format::pngLoad(large, *header, out.data(), error));
  EXPECT_EQ(error, "changed while it was read");
}

/// A reader keeps what it knows of a file until that is another one.
TEST(FileReader, SeesThatAFileWasReplaced) {
  char folder[] = "/tmp/tenc-io-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder));
  const std::string path = std::string(folder) + "/x.safetensors";
  std::string error;
  FileReader reader({});
  for (int64_t size = 1; size < 4; ++size) {
    const std::vector<float> data(static_cast<size_t>(size), static_cast<float>(size));
    const NamedTensor tensors[] = {{"a", {2, {size}, data.data()}}, {"b", {2, {size}, data.data()}}};
    ASSERT_TRUE(saveTensors(path, "", tensors, {}, error)) << error;
    for (const char* name : {"a", "b", "a"}) {
      const auto header = reader.header({path, "", name}, error);
      ASSERT_TRUE(header) << error;
      EXPECT_EQ(header->shape, (std::vector<int64_t>{size}));
      std::vector<float> back(static_cast<size_t>(size));
      EXPECT_TRUE(reader.load({path, "", name}, 2, header->shape, back.data(), error)) << error;
      EXPECT_EQ(back, data);
    }
  }
  std::remove(path.c_str());
  EXPECT_FALSE(reader.header({path, "", "a"}, error));
  rmdir(folder);
}

/// 8 MiB of ones in a file of its own, which is mapped.
class MappedFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(mkdtemp(folder_));
    path = std::string(folder_) + "/x.npy";
    const std::vector<int64_t> shape{static_cast<int64_t>(ones.size())};
    std::string error;
    const NamedTensor tensors[] = {{"", {2, shape, ones.data()}}};
    ASSERT_TRUE(saveTensors(path, "", tensors, {}, error)) << error;
    auto found = reader_.map({path, "", ""}, 2, shape);
    ASSERT_TRUE(found);
    mapped.emplace(std::move(*found));
  }
  void TearDown() override {
    std::remove(path.c_str());
    rmdir(folder_);
  }

  const std::vector<float> ones = std::vector<float>(size_t{1} << 21, 1.0F);
  std::string path;
  std::optional<MappedTensor> mapped;

 private:
  char folder_[20] = "/tmp/tenc-io-XXXXXX";
  FileReader reader_{{}};
};

/// Zeros stand where a file was cut short, its tensor tells, and addresses elsewhere are left alone.
TEST_F(MappedFile, IsRestoredWhereItWasCutShort) {
  ASSERT_EQ(truncate(path.c_str(), 8192), 0);
  const uint64_t before = lostPagesSoFar();
  EXPECT_FALSE(restoreLostPages(&ones[0]));
  EXPECT_FALSE(mapped->isCutShort());
  const auto* last = reinterpret_cast<const float*>(mapped->elements()) + ones.size() - 1;
  EXPECT_TRUE(restoreLostPages(last));  // as the handler of SIGBUS does
  EXPECT_EQ(*last, 0.0F);
  EXPECT_TRUE(mapped->isCutShort());
  EXPECT_EQ(lostPagesSoFar(), before + 1);
  const auto* gone = last;
  mapped.reset();
  EXPECT_FALSE(restoreLostPages(gone));
}

/// Whether /proc/self/smaps shows a flag of the mapping that begins there; nothing where the system shows no flags.
std::optional<bool> hasFlag(const std::byte* begin, const std::string& flag) {
  char start[32];
  std::snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(begin));
  std::ifstream maps("/proc/self/smaps");
  bool within = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(start)) within = true;
    if (within && line.starts_with("VmFlags:")) return (line + " ").find(" " + flag + " ") != std::string::npos;
  }
  return std::nullopt;
}

/// It has large pages, as far as the system has them, but not where little of it is wanted.
TEST_F(MappedFile, HasLargePages) {
  // Without them a kernel refuses the advice.
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "no transparent huge pages";
  const std::byte* const begin = mapped->elements() - mapped->offsetOf(mapped->elements());
  const auto advised = hasFlag(begin, "hg");
  if (!advised) GTEST_SKIP() << "/proc/self/smaps has no VmFlags";
  EXPECT_TRUE(*advised);
  mapped->expectScattered();
  EXPECT_EQ(hasFlag(begin, "hg"), false);
}

/// A file that did not become another one is removed: by whoever made it, or by a signal.
TEST(PartFile, LeavesNothing) {
  char folder[] = "/tmp/tenc-io-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder));
  const int at = open(folder, O_RDONLY | O_DIRECTORY);
  const auto files = [&] {
    size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) n += entry.is_regular_file();
    return n;
  };
  {
    const PartFile part(at, "x");
    EXPECT_GE(part.descriptor(), 0);
    close(part.descriptor());
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
  {
    PartFile one(at, "x"), two(at, "x");
    close(one.descriptor());
    close(two.descriptor());
    EXPECT_EQ(files(), 2U);
    EXPECT_TRUE(one.become("x"));
    removePartFiles();
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 1U);
  std::filesystem::remove_all(folder);
  close(at);
}

}  // namespace
}  // namespace tenc::rt
