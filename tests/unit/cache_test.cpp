// The cache of compiled code: other processes, kills, broken files and wrong folders cost time, never a result.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/cache/BuildId.h"
#include "codegen/cache/ObjectCache.h"

namespace tenc::codegen {
namespace {
namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tenc-cache-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    folder_ = root_ / "cache";
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all, ignored_);
    fs::remove_all(root_);
  }
  CacheOptions options() {
    CacheOptions o;
    o.directory = folder_;
    o.chosen = true;
    o.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return o;
  }
  fs::path onlyEntry() {
    std::vector<fs::path> all;
    for (const auto& e : fs::directory_iterator(folder_)) all.push_back(e.path());
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? fs::path() : all[0];
  }

  fs::path root_, folder_;
  std::error_code ignored_;
  std::vector<std::string> warnings_;
};

std::string contentOf(int i) {
  return std::string(static_cast<size_t>(1000 + 37 * i), static_cast<char>('a' + i % 26));
}

TEST_F(CacheTest, KeepsContentByKey) {
  ObjectCache cache(options());
  EXPECT_EQ(cache.load("a"), std::nullopt);
  cache.store("a", "one");
  cache.store("b", "");
  EXPECT_EQ(ObjectCache(options()).load("a"), "one");
  EXPECT_EQ(cache.load("b"), "");
  EXPECT_EQ(cache.load("c"), std::nullopt);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CacheTest, FolderAndFilesAreTheUsersAlone) {
  folder_ = root_ / "one" / "two";
  ObjectCache(options()).store("a", "one");
  struct stat s{};
  ASSERT_EQ(::stat(folder_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(onlyEntry().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
}

TEST_F(CacheTest, RefusesAFolderThatOthersCanWriteTo) {
  fs::create_directory(folder_);
  for (mode_t mode : {0770u, 0707u, 01777u}) {
    warnings_.clear();
    ::chmod(folder_.c_str(), mode);
    ObjectCache cache(options());
    cache.store("a", "one");
    EXPECT_EQ(cache.load("a"), std::nullopt);
    EXPECT_EQ(warnings_.size(), 1u);
    EXPECT_TRUE(fs::is_empty(folder_));
  }
}

TEST_F(CacheTest, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms::owner_all);
  ASSERT_EQ(::chown(folder_.c_str(), 12345, 12345), 0);
  ObjectCache cache(options());
  cache.store("a", "one");
  EXPECT_EQ(cache.load("a"), std::nullopt);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(CacheTest, DoesNotFollowLinksOrReadOtherThings) {
  ObjectCache cache(options());
  cache.store("a", "one");
  const fs::path entry = onlyEntry();
  fs::rename(entry, root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", entry);
  EXPECT_EQ(cache.load("a"), std::nullopt);
  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_EQ(cache.load("a"), std::nullopt);  // and does not wait for a writer
  cache.store("a", "two");
  EXPECT_EQ(cache.load("a"), "two");
}

TEST_F(CacheTest, EveryTruncationIsFound) {
  ObjectCache cache(options());
  cache.store("a", contentOf(1));
  const fs::path entry = onlyEntry();
  const auto whole = fs::file_size(entry);
  for (uintmax_t bytes = 0; bytes < whole; bytes += 7) {
    fs::resize_file(entry, bytes);
    EXPECT_EQ(cache.load("a"), std::nullopt) << bytes;
    EXPECT_FALSE(fs::exists(entry));
    cache.store("a", contentOf(1));
  }
  std::ofstream(entry, std::ios::app) << 'x';
  EXPECT_EQ(cache.load("a"), std::nullopt);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CacheTest, EveryFlippedBitIsFound) {
  ObjectCache cache(options());
  cache.store("a", "some content");
  const fs::path entry = onlyEntry();
  std::ifstream in(entry, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  for (size_t bit = 0; bit < 8 * good.size(); bit += 3) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    std::ofstream(entry, std::ios::binary) << bad;
    EXPECT_EQ(cache.load("a"), std::nullopt) << bit;
  }
  std::ofstream(entry, std::ios::binary) << good;
  EXPECT_EQ(cache.load("a"), "some content");
}

TEST_F(CacheTest, AnEntryUnderAnotherNameIsFound) {
  ObjectCache cache(options());
  cache.store("a", "one");
  const fs::path a = onlyEntry();
  fs::rename(a, root_ / "kept");
  cache.store("b", "two");
  const fs::path b = onlyEntry();
  fs::rename(root_ / "kept", b);
  EXPECT_EQ(cache.load("b"), std::nullopt);
}

TEST_F(CacheTest, AReadOnlyFolderStillReads) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ObjectCache(options()).store("a", "one");
  ::chmod(folder_.c_str(), 0500);
  ObjectCache cache(options());
  EXPECT_EQ(cache.load("a"), "one");
  cache.store("b", "two");
  cache.store("c", "three");
  EXPECT_EQ(cache.load("b"), std::nullopt);
  EXPECT_EQ(warnings_.size(), 1u);
}

/// Runs `body` in a process of its own; its exit status, or -1 after a signal.
template <typename Body>
pid_t start(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}
int wait(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(CacheTest, AFullDiskCostsOneWarning) {
  // A limit on the size of files stands for the disk: writes stop in the middle, with an error.
  EXPECT_EQ(wait(start([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit most{200, 200};
              ::setrlimit(RLIMIT_FSIZE, &most);
              ObjectCache cache(options());
              cache.store("a", contentOf(1));
              cache.store("b", contentOf(2));
              const bool clean = fs::is_empty(folder_);
              return clean && warnings_.size() == 1 && !cache.load("a") ? 0 : 1;
            })),
            0);
}

TEST_F(CacheTest, ManyWritersAtOnce) {
  constexpr int kWriters = 32, kKeys = 8;
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w)
    writers.push_back(start([&, w] {
      ObjectCache cache(options());
      for (int round = 0; round < 4; ++round)
        for (int i = 0; i < kKeys; ++i) {
          const int k = (i + w) % kKeys;
          const auto found = cache.load("key" + std::to_string(k));
          if (found && *found != contentOf(k)) return 1;
          cache.store("key" + std::to_string(k), contentOf(k));
        }
      return warnings_.empty() ? 0 : 2;
    }));
  for (pid_t w : writers) EXPECT_EQ(wait(w), 0);
  ObjectCache cache(options());
  for (int k = 0; k < kKeys; ++k) EXPECT_EQ(cache.load("key" + std::to_string(k)), contentOf(k));
  for (const auto& e : fs::directory_iterator(folder_)) EXPECT_EQ(e.path().extension(), ".tenc");
}

TEST_F(CacheTest, KilledWritersLeaveNothingThatIsRead) {
  const std::string large(8 << 20, 'x');
  for (int round = 0; round < 10; ++round) {
    const pid_t writer = start([&] {
      ObjectCache cache(options());
      for (int i = 0;; ++i) cache.store("key" + std::to_string(i % 4), large);
      return 0;
    });
    ASSERT_GT(writer, 0);  // kill(-1) would mean everybody
    ::usleep(static_cast<useconds_t>(2000 + 1700 * round));
    ::kill(writer, SIGKILL);
    EXPECT_EQ(wait(writer), -1);
    ObjectCache cache(options());
    for (int i = 0; i < 4; ++i) {
      const auto found = cache.load("key" + std::to_string(i));
      EXPECT_TRUE(!found || *found == large);
    }
  }
}

TEST_F(CacheTest, TheLeastRecentlyUsedEntriesGoFirst) {
  CacheOptions small = options();
  small.limit = 10 * 1200;
  ObjectCache cache(small);
  auto entries = [&] { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); };
  for (int i = 0; i < 10; ++i) {
    cache.store("key" + std::to_string(i), std::string(1000, 'x'));
    ::usleep(2000);
  }
  cache.load("key0");  // used again
  ::usleep(2000);
  cache.store("key10", std::string(1000, 'x'));
  cache.store("key11", std::string(1000, 'x'));
  std::ofstream(folder_ / "left.tmp") << "by a killed writer";
  std::ofstream(folder_ / "other.txt") << "of somebody else";
  fs::last_write_time(folder_ / "left.tmp", fs::file_time_type::clock::now() - std::chrono::hours(1));
  cache.evict();
  EXPECT_LE(entries(), 10);
  EXPECT_FALSE(fs::exists(folder_ / "left.tmp"));
  EXPECT_TRUE(fs::exists(folder_ / "other.txt"));
  EXPECT_TRUE(cache.load("key0") && cache.load("key11"));
  EXPECT_FALSE(cache.load("key1"));
  cache.store("huge", std::string(20 * 1200, 'x'));  // larger than all together
  EXPECT_EQ(cache.load("huge"), std::nullopt);
}

TEST_F(CacheTest, ThisProgramHasABuildId) { EXPECT_GE(buildId().size(), 8u); }

}  // namespace
}  // namespace tenc::codegen
