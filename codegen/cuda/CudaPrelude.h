// What stands before the kernels of a program: functions that bodies call, without headers of the toolkit.
#pragma once
#include <string_view>

namespace tenc::codegen::cuda {

extern const std::string_view kPrelude;

}  // namespace tenc::codegen::cuda
