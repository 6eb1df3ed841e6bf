# The static builds link everything but the C library into the binary: archives in place of the shared libraries that the packages of CMake find first.
find_library(ZLIB_LIBRARY NAMES libz.a REQUIRED)
find_library(PNG_LIBRARY NAMES libpng16.a libpng.a REQUIRED)
find_library(TENC_LIB_zstd NAMES libzstd.a REQUIRED)
find_path(TENC_INCLUDE_zstd NAMES zstd.h REQUIRED)
# LLVM's libraries ask for this target by its name.
add_library(zstd::libzstd_shared STATIC IMPORTED GLOBAL)
set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${TENC_LIB_zstd} INTERFACE_INCLUDE_DIRECTORIES ${TENC_INCLUDE_zstd})
