// Where NVIDIA's libraries are on this machine, for those who load them: NVRTC to compile, cuBLASLt and cuSOLVER to
// run. Nothing is loaded here.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::rt::cuda {

/// A library that is loaded at run time.
struct LibraryNames {
  std::string_view variable;       ///< of the environment: a file, or the name of one in the usual folders; empty: none
  std::vector<std::string> names;  ///< "libnvrtc.so.13", the best first
  std::string_view wheel;          ///< its folder in PyPI's packages for CUDA 12: "cuda_nvrtc"
};

/// NVRTC compiles CUDA C++; it belongs to no driver.
LibraryNames nvrtcNames();
/// cuBLASLt multiplies matrices.
LibraryNames cublasLtNames();
/// cuSOLVER factorises matrices.
LibraryNames cusolverNames();

/// The file's path. Looked for in the folders of LD_LIBRARY_PATH, of the system's loader, of the toolkit
/// (/usr/local/cuda), and of Python's packages, in that order. Nothing, with the names and folders that were tried in
/// `tried`, where there is none.
std::optional<std::string> findLibrary(const LibraryNames& library, std::string& tried);

/// Whether the file begins as a shared library does (the ELF header of System V's ABI), without loading it.
bool looksLoadable(const std::string& file);

/// Tells a file from all other versions of it without reading it.
std::string identityOf(const std::string& file);

}  // namespace tenc::rt::cuda
