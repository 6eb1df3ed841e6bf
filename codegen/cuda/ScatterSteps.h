// The functions of each form of a scatter, between what plans and what writes them.
#pragma once
#include <cstdint>

#include "codegen/cuda/Scatter.h"
#include "codegen/cuda/SortRoutine.h"

namespace tenc::codegen::cuda {

enum LatestStep : uint32_t { ClearPlaces, MarkLatest, StoreLatest };
enum ShortStep : uint32_t { SortShort, ShortSegments };
enum LongStep : uint32_t {
  NumberLines = WideSort::Begin,
  CountDigits = WideSort::Count,
  ScanDigits = WideSort::Scan,
  MoveLines = WideSort::Move,
  LongSegments
};

/// Where in the memory of a long sort it works; before that are the places of lines.
uint64_t sortOffset(const ScatterPlan& plan);
/// That sort.
WideSort sortOf(const ScatterPlan& plan);

}  // namespace tenc::codegen::cuda
