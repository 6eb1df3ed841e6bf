// Files that change between two looks at them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/io/Formats.h"

namespace tenc::rt {
namespace {

/// A grey picture as a file.
std::vector<std::byte> picture(int64_t height, int64_t width) {
  const std::vector<uint8_t> pixels(static_cast<size_t>(height * width), 7);
  const format::File f(std::tmpfile());
  std::string error;
  EXPECT_TRUE(format::pngSave(f.get(), {8, {height, width}, pixels.data()}, error)) << error;
  std::fflush(f.get());
  const auto bytes = format::Bytes::of(f.get());
  return {bytes->span().begin(), bytes->span().end()};
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

}  // namespace
}  // namespace tenc::rt
