//===- Coordinator.h - One process that has many workers -------------------===//
//
// Where workers are on other machines, a program of its own knows them: it takes requests by lines of JSON, as many as
// there are, and answers them in any order.
//
//   Coordinator cluster({"python3", "-c", source, "auto"}, R"({"command": […]})");   // waits until it is ready
//   cluster.identity()                                                                 // of its devices
//   std::vector<Answer> answers = cluster.run({R"({"candidate": …})"});                // one for each, in their order
//
//   >> {"id": 7, "request": {…}}
//   << {"id": 7, "text": "…"}   or   {"id": 7, "fault": "hung for 60.0 s"}
//
// What happens to a worker is its business; if it ends itself, that is an error (`tune-ray`).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Workers.h"

namespace soliton::tune {

class Coordinator {
public:
  /// Throws TuneError where it does not become ready, with what it says about that.
  Coordinator(std::vector<std::string> command, const std::string &firstLine);
  ~Coordinator();
  Coordinator(const Coordinator &) = delete;
  Coordinator &operator=(const Coordinator &) = delete;

  /// What it said of its workers, as JSON.
  const std::string &identity() const { return said; }
  /// Requests must be JSON. `found` is told of each answer as it comes, with the number of its request.
  std::vector<Answer> run(const std::vector<std::string> &requests,
                          const std::function<void(size_t, const Answer &)> &found = {});

private:
  /// The next line; waits for it. Throws TuneError where there will be none.
  std::string nextLine();

  Process process;
  std::string said, text;
  /// Numbers of requests go on from run to run, so that no late answer is taken for another's.
  int64_t asked = 0;
};

} // namespace soliton::tune
