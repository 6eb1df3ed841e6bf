// Host tensors, their text form, and the files they come from and go to. Used by the executor, by the reference
// interpreter and by the frontend (which reads headers at compile time). Paths are relative to the working directory.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::rt {

/// Bytes of an element. Dtypes are codes of runtime/abi/DType.h; what is none of them has 0.
int dtypeSize(uint8_t dtype);
std::string_view dtypeName(uint8_t dtype);

/// A dense row-major tensor in host memory that is not owned.
struct TensorView {
  uint8_t dtype = 2;
  std::vector<int64_t> shape;
  const void* data = nullptr;
};

/// IEEE conversions of the two narrow formats (round to nearest even).
float halfToFloat(uint16_t h);
uint16_t floatToHalf(float f);
float bfloatToFloat(uint16_t b);
uint16_t floatToBfloat(float f);

/// The format of u8[N] whose bytes are written as they stand.
inline constexpr std::string_view kTextFormat = "text";
/// The format of a tensor in a tree whose elements are indented by so many columns: short elements go on behind the
/// type, others stand below it, indented further. No script can write it.
std::string indentFormat(size_t columns);
bool isIndentFormat(bool rank0, std::string_view format);
/// "f32[2, 3] @cuda:0" and below it the elements as NumPy prints them (long ones summarised), or by an indentFormat;
/// the elements alone, each by it, where a TL format is given. A rank-0 value is bare.
std::string formatTensor(const TensorView& t, std::string_view device, std::string_view format = "");
/// A rank-0 value by a TL format ("", "d", ".3f", ">8.2e", ","); the shortest form that reads back when "". Of an i64,
/// also by a choiceFormat.
std::string formatScalar(uint8_t dtype, const void* element, std::string_view format);
/// "" when `format` fits the dtype, else why not.
std::string checkFormat(uint8_t dtype, std::string_view format);
/// A string by a TL format (">10", "^8", "*<12s"), and "" or why `format` is none of strings.
std::string formatString(std::string_view text, std::string_view format);
std::string checkTextFormat(std::string_view format);
/// The format of an i64 that says which of these texts is meant. No script can write it.
std::string choiceFormat(const std::vector<std::string>& texts);
bool isChoiceFormat(uint8_t dtype, bool rank0, std::string_view format);
std::vector<std::string> choiceTexts(std::string_view format);

/// What a file's header says. `fortran`, `swap`: element order and byte order that load undoes.
struct FileHeader {
  uint8_t dtype = 2;
  std::vector<int64_t> shape;
  uint64_t dataOffset = 0;
  bool fortran = false;
  bool swap = false;
};
/// Which files may be read and written: all, or only those in the folder `root`, wherever links in it lead. A file is
/// opened first and then asked where it is, so that nothing can be exchanged in between.
struct FileAccess {
  std::string root;
  /// The access that `--sandbox-dir folder` gives; nullopt when it is no folder.
  static std::optional<FileAccess> within(const std::string& folder);
};

/// A tensor in a file. `format`: "npy", "npz", "safetensors", "csv", "png", "bytes"; "" guesses from the path's ending.
/// `name`: which of a file that holds several; "" takes the only one.
struct FileSource {
  std::string path, format, name;
};

class MappedPages;

/// The elements of a large file where they are: pages of the file, copied only when they are written to.
class MappedTensor {
 public:
  MappedTensor(MappedTensor&& other) noexcept;
  MappedTensor& operator=(MappedTensor&&) = delete;
  ~MappedTensor();
  std::byte* elements() const { return elements_; }
  uint64_t bytes() const { return length_; }  ///< of all of the file
  /// Where in the file an address of its pages is.
  uint64_t offsetOf(const std::byte* at) const {
    return static_cast<uint64_t>(at - static_cast<const std::byte*>(base_));
  }
  /// Whether the file had become shorter when something was read of it: there are zeros then (MappedPages.h).
  bool isCutShort() const;
  const std::string& path() const { return path_; }
  /// Reads all pages from the disk, so that nobody waits for them later; false when `stop` is set, or where that fails.
  bool bringIn(const std::atomic<bool>& stop) const;
  /// Pages will be wanted here and there: the system reads no others along with them.
  void expectScattered() const;
  /// The process has little memory: the system brings in small pages only.
  void expectLittle() const;
  /// Takes the pages out of the process's memory; what is read again comes from the system's cache or the disk. Only of
  /// one that was not mapped to be written to.
  void letGo() const;

 private:
  friend class FileReader;
  MappedTensor();
  void* base_ = nullptr;
  uint64_t length_ = 0;
  std::byte* elements_ = nullptr;
  std::unique_ptr<MappedPages> pages_;
  std::string path_;
};

/// Whether a tensor can be used where it lies in its file: many elements, in row-major order of the host's bytes, from
/// a multiple of 64 bytes on, in a format that does not pack them.
bool isMappable(const FileSource& source, const FileHeader& header);

class FileVersion;
class OpenFile;

/// Reads tensors of files. The last file stays open with what its header says, for as long as it is not changed or
/// replaced, so that a file of many tensors is looked through once. Where something fails `error` gets path and reason.
class FileReader {
 public:
  explicit FileReader(FileAccess access);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  std::optional<FileHeader> header(const FileSource& source, std::string& error);
  /// Reads into `out` (sized by the caller to the declared elements), in row-major order of the host's bytes.
  bool load(const FileSource& source, uint8_t dtype, const std::vector<int64_t>& shape, void* out, std::string& error);
  /// nullopt when the file is not `isMappable`, or on an error, which is `load`'s to tell. `mayWrite`: pages are copied
  /// when they are written to, else they must not be.
  std::optional<MappedTensor> map(const FileSource& source, uint8_t dtype, const std::vector<int64_t>& shape,
                                  bool mayWrite = true);
  /// Of the file that was read last, as it was when it was opened; nothing after an error.
  std::optional<FileVersion> version() const;
  /// The file that was read last; null after an error, and where the system gives no descriptor.
  std::shared_ptr<const OpenFile> opened() const;

 private:
  struct Opened;
  /// The file, and the header of its tensor; null where something is wrong.
  const FileHeader* find(const FileSource& source, std::string& error);
  std::unique_ptr<Opened> opened_;
  const FileAccess access_;
};
/// Whether a .csv file of one row or one column can stand for a tensor of rank 1, and others for what they are.
bool fitsCsv(const std::vector<int64_t>& rowsAndColumns, const std::vector<int64_t>& shape);

struct NamedTensor {
  std::string name;
  TensorView view;
};
/// Whether files of this format hold several tensors with names.
bool holdsNames(std::string_view format);
/// `format`: as above, "ppm" and "pgm". Writes beside the file that `path` leads to, through symbolic links, and
/// renames; an old file's mode stays. What is there and no regular file is an error. Pictures: [H, W] or [H, W, 3], u8
/// as is, floats 0..1 scaled, other integers scaled from their least to their largest value.
bool saveTensors(const std::string& path, std::string_view format, std::span<const NamedTensor> tensors,
                 const FileAccess& access, std::string& error);
/// Whether `save` can write this type in this format; "" when it can, else why not.
std::string checkSave(std::string_view format, uint8_t dtype, const std::vector<int64_t>& shape);

}  // namespace tenc::rt
