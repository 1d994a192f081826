// Heaps whose front is the entry that is behind no other.
#pragma once

#include <algorithm>
#include <vector>

namespace weft::event_heap {

// std::*_heap keep the greatest in front: the one that no other is behind.
template <class T>
void push(std::vector<T>& heap, const T& value) {
  heap.push_back(value);
  std::push_heap(heap.begin(), heap.end(),
                 [](const T& a, const T& b) { return a.is_behind(b); });
}
template <class T>
T pop(std::vector<T>& heap) {
  std::pop_heap(heap.begin(), heap.end(),
                [](const T& a, const T& b) { return a.is_behind(b); });
  const T value = heap.back();
  heap.pop_back();
  return value;
}

}  // namespace weft::event_heap
