//===- InPlace.h - A declaration whose fragments stay in shared memory -------------===//
//
// Where matrix instructions read shared memory by themselves, a fragment is no instruction: the ops that compute with
// it read its half-tile, and it has to stay there until they are done. The same declaration, said for such a machine:
//
//   LOAD_A[s0,0]@K0  MMA_LOAD_B[s0,1]  MMA[0,0]      becomes      LOAD_A[s2,0]  MMA[0,0]     which reads A00 and B00
//
//   - fragments are gone, and compute ops touch what they would have read; they complete on a counter of their own
//   - registers that held a tile on its way are a buffer: as many stages as a load works ahead, and one, and with
//     rotation one more
//   - halves are equal, so that one of them is a trip, and stages are taken in turn: storage has the name that it has
//     in stage 0, and `s2` is the stage two tiles on
//   - a load into registers and the store behind it are one copy, where tiles are copied
//
// Order, groups of waves and phases are the declaration's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/PipelineSchedule.h"

#include <memory>

namespace soliton::pipe {

/// How tiles get into shared memory: by copies past the registers, by stores, or some so and some so.
struct Arrival {
  bool copies = true;
  bool stores = false;
};

class InPlace : public PipelineSchedule {
public:
  /// `profile` says counters and costs.
  InPlace(std::shared_ptr<const PipelineSchedule> declared, const TargetProfile &profile, Arrival arrival = {});

  std::string name() const override { return declared->name(); }
  PipelineConfig config() const override { return structure; }
  ScheduleConfig scheduleConfig() const override;
  std::vector<OpDesc> declareOps() const override { return body; }
  std::vector<OpDesc> buildBody() const override { return body; }
  std::vector<Touch> touches(const OpDesc &op, int half) const override;
  int tilesAhead(const OpDesc &op, int half) const override;
  /// Which buffer a tile lies in is one number for the whole group of waves, which costs less than copies of the loop.
  int copiesPerTrip() const override { return 1; }
  int waveGroups() const override { return declared->waveGroups(); }
  std::string loopTag() const override { return declared->loopTag(); }
  std::vector<Selection> selects(const OpDesc &op) const override { return declared->selects(op); }
  std::vector<OpDesc> spread(std::span<const OpDesc> ops, const HintCounts &counts) const override {
    return declared->spread(ops, counts);
  }
  const KernelGeometry *geometry() const override { return declared->geometry(); }
  std::string tagName(int tag) const override { return declared->tagName(tag); }

private:
  /// An op of the declaration's first tile.
  struct Declared {
    OpDesc op;
    int ahead = 0;
  };
  void readTile();
  bool isKept(const OpDesc &op) const;
  void buildTrip();
  int most(OpRole role) const;
  std::vector<Touch> declaredTouches(OpDesc op) const;
  void addShared(std::vector<Touch> &touches, OpRole role, const Touch &through) const;

  std::shared_ptr<const PipelineSchedule> declared;
  Arrival arrival;
  PipelineConfig structure;
  /// The first tile as it was declared, fragments included.
  std::vector<Declared> tile;
  std::vector<OpDesc> body;
};

} // namespace soliton::pipe
