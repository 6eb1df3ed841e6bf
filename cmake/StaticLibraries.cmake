# The static builds link everything but the C library into the binary: archives in place of the shared libraries that CMake's own modules find first,
# or have found in an older build folder.
function(tenc_archive variable)
  find_library(TENC_ARCHIVE_${variable} NAMES ${ARGN} REQUIRED)
  set(${variable} ${TENC_ARCHIVE_${variable}} CACHE FILEPATH "the archive, not the shared library" FORCE)
endfunction()
tenc_archive(ZLIB_LIBRARY_RELEASE libz.a)
tenc_archive(PNG_LIBRARY_RELEASE libpng16.a libpng.a)
tenc_archive(TENC_ZSTD_LIBRARY libzstd.a)
# LLVM's libraries ask for this target by its name.
add_library(zstd::libzstd_shared STATIC IMPORTED GLOBAL)
find_path(TENC_ZSTD_INCLUDE NAMES zstd.h REQUIRED)
set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${TENC_ZSTD_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${TENC_ZSTD_INCLUDE})
