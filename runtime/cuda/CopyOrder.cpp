#include "runtime/cuda/CopyOrder.h"

#include <algorithm>

namespace tenc::rt::cuda {
namespace {

// An event after each launch costs the host about as much as a quarter of one: only places that see copies again get
// them, and not very many places.
constexpr uint64_t kAgain = 2;
constexpr size_t kMostMarked = 16, kMostPlaces = 256;

}  // namespace

void CopyOrder::expect(const Touch& touch) {
  if (markedPlaces_ >= kMostMarked) return;
  places_.push_back({touch, nullptr, nullptr, true});
  ++markedPlaces_;
}

void CopyOrder::begin() {
  copies_.clear();
  kernelsRan_ = false;
  for (Place& p : places_) p.read = p.written = nullptr;
}

CopyOrder::Place* CopyOrder::placeOf(const Touch& touch) {
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const Place& p) {
    return p.touch.begin == touch.begin && p.touch.end == touch.end;
  });
  return found == places_.end() ? nullptr : &*found;
}

void CopyOrder::beforeKernels(std::span<const Touch> touches, std::vector<Event>& waits) {
  for (size_t i = copies_.size(); i-- > 0;) {
    const Copy& c = copies_[i];
    if (c.known || std::none_of(touches.begin(), touches.end(), [&](const Touch& t) { return t.meets(c.touch); }))
      continue;
    waits.push_back(c.done);
    // With it what comes before it in its queue. Those elsewhere are of several queues.
    for (size_t k = 0; k <= i; ++k)
      copies_[k].known |= k == i || (c.queue != CopyQueue::Elsewhere && copies_[k].queue == c.queue);
  }
}

bool CopyOrder::afterKernels(std::span<const Touch> touches) {
  kernelsRan_ = true;
  return markedPlaces_ > 0 && std::any_of(places_.begin(), places_.end(), [&](const Place& p) {
           return p.isMarked &&
                  std::any_of(touches.begin(), touches.end(), [&](const Touch& t) { return t.overlaps(p.touch); });
         });
}

void CopyOrder::marked(std::span<const Touch> touches, const Event& end) {
  for (Place& p : places_) {
    if (!p.isMarked) continue;
    for (const Touch& t : touches)
      if (t.overlaps(p.touch)) (t.writes ? p.written : p.read) = end;
  }
}

bool CopyOrder::beforeCopy(CopyQueue queue, const Touch& touch, std::vector<Event>& waits) {
  for (const Copy& c : copies_)
    if ((c.queue != queue || queue == CopyQueue::Elsewhere) && c.touch.meets(touch)) waits.push_back(c.done);
  Place* place = placeOf(touch);
  if (place == nullptr && places_.size() < kMostPlaces) {
    places_.push_back({touch, nullptr, nullptr});
    place = &places_.back();
  }
  if (place != nullptr && place->isMarked) {
    if (place->written) waits.push_back(place->written);
    if (place->read && touch.writes) waits.push_back(place->read);
    return true;
  }
  if (place != nullptr && ++place->copies >= kAgain && markedPlaces_ < kMostMarked) {
    place->isMarked = true;
    ++markedPlaces_;
  }
  return !kernelsRan_;
}

void CopyOrder::kernelsEnd(const Touch& touch, const Event& end) {
  if (Place* place = placeOf(touch); place != nullptr && place->isMarked) place->read = place->written = end;
}

}  // namespace tenc::rt::cuda
