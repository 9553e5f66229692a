//===- InOrder.h - Results of several threads, in the order of their numbers ---------===//
//
//   inOrder(2, 10, [](uint32_t i) { return i * i; }, [](uint32_t square) { return square < 30; });
//   consumes 0, 1, 4, 9, 16, 25, 36 and stops, however many threads there are
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace soliton::attack {

/// Hands `produce(i)` for i = 0, 1, … < most, made on some threads, to `consume`, in order, until that has enough: what
/// comes out does not depend on the number of threads.
template <typename Produce, typename Consume>
void inOrder(int threads, uint32_t most, Produce produce, Consume consume) {
  std::atomic<uint32_t> next = 0;
  std::atomic<bool> enough = false;
  std::mutex mutex;
  uint32_t consumed = 0;
  std::map<uint32_t, decltype(produce(0))> made;
  auto loop = [&] {
    for (uint32_t number = next++; !enough && number < most; number = next++) {
      auto result = produce(number);
      std::lock_guard lock(mutex);
      made.emplace(number, std::move(result));
      for (auto it = made.find(consumed); it != made.end() && !enough; it = made.find(++consumed)) {
        enough = !consume(std::move(it->second));
        made.erase(it);
      }
    }
  };
  std::vector<std::thread> running;
  for (int i = 1; i < threads; ++i)
    running.emplace_back(loop);
  loop();
  for (std::thread &thread : running)
    thread.join();
}

} // namespace soliton::attack
