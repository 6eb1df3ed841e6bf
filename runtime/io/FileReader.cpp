// Reading: files of one tensor, and those of many with names.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "runtime/io/Container.h"
#include "runtime/io/MappedPages.h"
#include "runtime/io/OpenFile.h"
#include "runtime/io/Paths.h"
#include "runtime/io/Version.h"

namespace tenc::rt {

namespace {

format::File openRead(const std::string& path, const FileAccess& access, std::string& error) {
  // Without O_NONBLOCK a pipe would be waited for.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    error = "`" + path + "`: " + std::strerror(errno);
    return nullptr;
  }
  if (!isWithin(descriptor, access)) {
    close(descriptor);
    error = outside(path, access);
    return nullptr;
  }
  format::File f(fdopen(descriptor, "rb"));
  if (!f || !format::fileSize(f.get())) {
    error = "`" + path + "` is not a regular file";
    f.reset();
  } else if (char first = 0; format::fileSize(f.get()) == 0 && pread(descriptor, &first, 1, 0) != 0) {
    error = "`" + path + "` has no known length, as files under /proc";  // they report a size of 0
    f.reset();
  }
  return f;
}

}  // namespace

/// An open file, and the tensors in it.
struct FileReader::Opened {
  std::string path, format;
  format::File file;
  std::optional<FileVersion> version;
  std::optional<format::FileBytes> bytes;
  std::vector<std::byte> picture;                  ///< all of a .png file
  std::vector<format::Entry> entries;              ///< of a format without names one
  std::unordered_map<std::string, size_t> byName;  ///< of a format with names
  const format::Entry* chosen = nullptr;
  std::shared_ptr<const OpenFile> shared;  ///< for those who read parts of it, once there are any

  bool parse(std::string& reason);
  bool choose(const std::string& name, std::string& reason);
  bool loadElements(uint8_t dtype, const std::vector<int64_t>& shape, void* out, std::string& reason) const;
};

bool FileReader::Opened::parse(std::string& reason) {
  std::optional<FileHeader> header;
  bytes = format::FileBytes::of(file.get());
  if (!bytes) return reason = "cannot be read", false;
  if (format == "csv") {
    header = format::csvHeader(file.get(), reason);
  } else if (format == "bytes") {
    header = FileHeader{8, {static_cast<int64_t>(bytes->size())}, 0, false, false};
  } else if (format == "npy" || format == "png" || holdsNames(format)) {
    if (holdsNames(format)) {
      auto found = format == "npz" ? format::npzEntries(*bytes, reason) : format::safetensorsEntries(*bytes, reason);
      if (!found) return false;
      entries = std::move(*found);
      byName.reserve(entries.size());
      for (size_t i = 0; i < entries.size(); ++i) byName.emplace(entries[i].name, i);
      return true;
    }
    const bool isPicture = format == "png";
    auto head = bytes->part(0, isPicture ? bytes->size() : std::min<uint64_t>(bytes->size(), format::kMostNpyHead));
    header = isPicture ? format::pngHeader(head, reason) : format::npyHeader(head, bytes->size(), reason);
    if (isPicture) picture = std::move(head);
  } else {
    reason = "is in a format that cannot be read (" + format + ")";
  }
  if (header) entries.emplace_back().header = *header;
  return header.has_value();
}

/// The tensor of a name, or the only one.
bool FileReader::Opened::choose(const std::string& name, std::string& reason) {
  constexpr size_t kMostNamed = 8;
  chosen = nullptr;
  if (!holdsNames(format) || (name.empty() && entries.size() == 1)) {
    chosen = &entries[0];
  } else if (const auto found = byName.find(name); !name.empty() && found != byName.end()) {
    chosen = &entries[found->second];
  }
  if (chosen) {
    if (!chosen->foreign.empty()) reason = chosen->foreign + " in `" + chosen->name + "`";
    return chosen->foreign.empty();
  }
  std::string names;
  for (size_t i = 0; i < std::min(entries.size(), kMostNamed); ++i) names += (i ? ", `" : "`") + entries[i].name + "`";
  if (entries.size() > kMostNamed) names += " and " + std::to_string(entries.size() - kMostNamed) + " more";
  reason = (name.empty() ? "holds " + std::to_string(entries.size()) + " tensors, so a `name` is needed"
                         : "holds no tensor `" + name + "`") +
           (entries.empty() ? "" : "; there are " + names);
  return false;
}

namespace {

/// bools are 0 or 1 whatever the file says.
void cleanBools(uint8_t dtype, void* out, uint64_t n) {
  auto* bytes = static_cast<unsigned char*>(out);
  for (uint64_t i = 0; dtype == 12 && i < n; ++i) bytes[i] = bytes[i] != 0;
}

}  // namespace

bool FileReader::Opened::loadElements(uint8_t dtype, const std::vector<int64_t>& shape, void* out,
                                      std::string& reason) const {
  const FileHeader& h = chosen->header;
  if (format == "npz") return format::npzLoad(*bytes, *chosen, out, reason);
  if (format == "png") return format::pngLoad(picture, h, out, reason);
  if (format == "csv") return format::csvLoad(file.get(), dtype, shape, out, reason);
  uint64_t at = format == "bytes" ? 0 : h.dataOffset;
  const auto read = [&](std::span<std::byte> to) {  // what comes next
    if (bytes->read(std::exchange(at, at + to.size()), to)) return true;
    reason = format::kUnreadable;
    return false;
  };
  if (format == "npy") return format::npyLoad(h, out, read);
  const uint64_t size = format == "bytes" ? static_cast<uint64_t>(shape[0]) : chosen->size;
  if (!read({static_cast<std::byte*>(out), size})) return false;
  cleanBools(dtype, out, size);
  return true;
}

namespace {

std::string typeText(uint8_t dtype, const std::vector<int64_t>& shape) {
  std::string s = std::string(dtypeName(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d) s += (d ? ", " : "") + std::to_string(shape[d]);
  return s + "]";
}

/// The path, and the tensor in it where that was asked for.
std::string quoted(const FileSource& source) {
  return "`" + source.path + "`" + (source.name.empty() ? "" : ", `" + source.name + "`");
}

}  // namespace

bool fitsCsv(const std::vector<int64_t>& found, const std::vector<int64_t>& shape) {
  if (shape.size() != 1) return found == shape;
  return (found[0] == 1 || found[1] <= 1) && found[0] * found[1] == shape[0];
}

std::optional<FileVersion> FileReader::version() const { return opened_ ? opened_->version : std::nullopt; }

std::shared_ptr<const OpenFile> FileReader::opened() const {
  if (opened_ && !opened_->shared) opened_->shared = OpenFile::of(fileno(opened_->file.get()), opened_->path);
  return opened_ ? opened_->shared : nullptr;
}

FileReader::FileReader(FileAccess access) : access_(std::move(access)) {}
FileReader::~FileReader() = default;

const FileHeader* FileReader::find(const FileSource& source, std::string& error) {
  const std::string_view form = formatOf(source.path, source.format);
  if (!opened_ || opened_->path != source.path || opened_->format != form || !opened_->version ||
      opened_->version != FileVersion::of(source.path)) {
    opened_.reset();
    auto fresh = std::make_unique<Opened>();
    fresh->path = source.path;
    fresh->format = form;
    fresh->file = openRead(source.path, access_, error);
    if (!fresh->file) return nullptr;
    fresh->version = FileVersion::ofOpen(fileno(fresh->file.get()));
    if (std::string reason; !fresh->parse(reason)) {
      error = "`" + source.path + "` " + reason;
      return nullptr;
    }
    opened_ = std::move(fresh);
  }
  if (std::string reason; !opened_->choose(source.name, reason)) {
    error = "`" + source.path + "` " + reason;
    return nullptr;
  }
  return &opened_->chosen->header;
}

std::optional<FileHeader> FileReader::header(const FileSource& source, std::string& error) {
  const FileHeader* h = find(source, error);
  return h ? std::optional(*h) : std::nullopt;
}

bool FileReader::load(const FileSource& source, uint8_t dtype, const std::vector<int64_t>& shape, void* out,
                      std::string& error) {
  const FileHeader* h = find(source, error);
  if (!h) return false;
  const bool isCsv = opened_->format == "csv";  // text has no dtype of its own
  if (isCsv ? !fitsCsv(h->shape, shape) : h->shape != shape || h->dtype != dtype) {
    error = quoted(source) + " holds " + typeText(isCsv ? dtype : h->dtype, h->shape) + ", and " +
            typeText(dtype, shape) + " is declared";
    return false;
  }
  std::string reason;
  if (opened_->loadElements(dtype, shape, out, reason)) return true;
  error = "`" + source.path + "` " + reason;
  return false;
}

bool isMappable(const FileSource& source, const FileHeader& h) {
  constexpr uint64_t kLarge = uint64_t{1} << 22, kAlignment = 64;
  const std::string_view form = formatOf(source.path, source.format);
  if ((form != "npy" && form != "safetensors") || h.dtype == 12) return false;
  const auto count = format::elements(h.shape);
  if (!count || static_cast<uint64_t>(*count) * static_cast<uint64_t>(dtypeSize(h.dtype)) < kLarge) return false;
  return !h.swap && (!h.fortran || h.shape.size() < 2) && h.dataOffset % kAlignment == 0;
}

std::optional<MappedTensor> FileReader::map(const FileSource& source, uint8_t dtype, const std::vector<int64_t>& shape,
                                            bool mayWrite) {
  if (!isMappable(source, {dtype, shape, 0, false, false})) return std::nullopt;  // known before it is opened
  std::string ignored;
  const FileHeader* h = find(source, ignored);
  if (!h || !isMappable(source, *h) || h->dtype != dtype || h->shape != shape) return std::nullopt;
  const uint64_t size = opened_->bytes->size();
  MappedTensor t;
  t.base_ =
      mmap(nullptr, size, mayWrite ? PROT_READ | PROT_WRITE : PROT_READ, MAP_PRIVATE, fileno(opened_->file.get()), 0);
  if (t.base_ == MAP_FAILED) {
    t.base_ = nullptr;
    return std::nullopt;
  }
  // Then the system reads the file in pieces of 2 MB, each of which is one page and one page fault. What is in its
  // cache in smaller pieces is left so.
  madvise(t.base_, size, MADV_HUGEPAGE);
  t.length_ = size;
  t.pages_ = std::make_unique<MappedPages>(t.base_, size);
  t.path_ = source.path;
  t.elements_ = static_cast<std::byte*>(t.base_) + h->dataOffset;
  return t;
}

MappedTensor::MappedTensor(MappedTensor&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      length_(other.length_),
      elements_(other.elements_),
      pages_(std::move(other.pages_)),
      path_(std::move(other.path_)) {}

MappedTensor::MappedTensor() = default;

bool MappedTensor::isCutShort() const { return pages_ && pages_->areLost(); }

bool MappedTensor::bringIn(const std::atomic<bool>& stop) const {
  constexpr uint64_t kPiece = uint64_t{4} << 20, kLead = 4 * kPiece;
  constexpr int kPopulate = 22;  // MADV_POPULATE_READ, of Linux 5.14
  auto* const begin = static_cast<std::byte*>(base_);
  for (uint64_t at = 0; at < length_; at += kPiece) {
    if (stop.load(std::memory_order_relaxed)) return false;
    // The disk works some pieces ahead of the one that is waited for.
    const uint64_t asked = at == 0 ? 0 : std::min(length_, at + kLead - kPiece);
    const uint64_t wanted = std::min(length_, at + kLead);
    if (asked < wanted) madvise(begin + asked, wanted - asked, MADV_WILLNEED);
    if (madvise(begin + at, std::min(kPiece, length_ - at), kPopulate) == 0) continue;
    if (errno != EINVAL) return false;  // cut short, or it cannot be read
  }
  return true;
}

void MappedTensor::expectScattered() const {
  expectLittle();
  madvise(base_, length_, MADV_RANDOM);
}

void MappedTensor::expectLittle() const { madvise(base_, length_, MADV_NOHUGEPAGE); }

void MappedTensor::letGo() const { madvise(base_, length_, MADV_DONTNEED); }

MappedTensor::~MappedTensor() {
  pages_.reset();  // before something else can be there
  if (base_) munmap(base_, length_);
}

}  // namespace tenc::rt
