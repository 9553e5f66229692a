// The loop of attention as a declared pipeline: two tiles of keys and values a trip, and the scores of the next tile
// are multiplied while the softmax of this one runs on the vector unit. Barriers, waits, prologue and epilogue are
// derived.
//
//   pipeline                    pipeline costs
#include <soliton/pipeline/Compile.h>
#include <soliton/pipeline/Report.h>

#include <cstdio>
#include <cstring>

using namespace soliton::pipe;

class Attention : public PipelineSchedule {
  enum Tag { LoadK, LoadV, ReadK, ReadV, Scores, Softmax, Output };
  enum Channel { K, V };

public:
  Attention() {
    for (Tag load : {LoadK, LoadV})
      target.costs.set(load, {ResourceKind::GlobalMem, 400, OpRole::GlobalLoad});
    for (Tag read : {ReadK, ReadV})
      target.costs.set(read, {ResourceKind::Shared, 60, OpRole::FragmentLoad, 16});
    for (Tag product : {Scores, Output})
      target.costs.set(product, {ResourceKind::MmaUnit, 128, OpRole::Compute, 16});
    target.costs.set(Softmax, {ResourceKind::Valu, 160, OpRole::ValuCompute, 8});
    target.pipeline.mMmas = 2; // two products a tile, rows 0 and 1
    target.pipeline.nMmas = 1;
    target.pipeline.waveStagger = WaveStagger::none();
    target.pipeline.crossStageRotation = true;
    knobs.minimalBarriers = true;
  }

  std::string name() const override { return "attention"; }

  /// What a half does: scores of the tile after its own, then softmax and product of its own.
  std::vector<OpDesc> declareOps() const override {
    return PipelineBody()
        .halves([](PipelineBody &b, const Half &h) {
          b.load({.tag = LoadK, .channel = K, .stage = h.stage, .k = h.k});
          b.frag({.tag = ReadK, .channel = K, .stage = h.other});
          b.compute({.tag = Scores});
          b.op({.tag = Softmax});
          b.frag({.tag = ReadV, .channel = V, .stage = h.stage});
          b.compute({.tag = Output, .stage = 1});
          b.load({.tag = LoadV, .channel = V, .stage = h.stage, .k = h.k});
        })
        .done();
  }

  /// Two sets of scores, so that the next tile's can be written while this one's are read.
  std::vector<Touch> touches(const OpDesc &op, int half) const override {
    std::string mine = "scores" + std::to_string(half), next = "scores" + std::to_string(1 - half);
    switch (op.tag) {
    case Scores:
      return {readsRegister(fragmentName(K, 0)), writesRegister(next)};
    case Softmax:
      return {readsRegister(mine), writesRegister("weights"), readsRegister("sums"), writesRegister("sums")};
    case Output:
      return {readsRegister("weights"), readsRegister(fragmentName(V, 0)), readsRegister("out"), writesRegister("out")};
    default:
      return PipelineSchedule::touches(op, half);
    }
  }

  int tilesAhead(const OpDesc &op, int half) const override {
    return op.tag == Scores ? 1 : PipelineSchedule::tilesAhead(op, half);
  }

  std::string tagName(int tag) const override {
    const char *names[] = {"LOAD_K", "LOAD_V", "READ_K", "READ_V", "SCORES", "SOFTMAX", "OUTPUT"};
    return names[tag];
  }
};

int main(int argc, char **argv) {
  bool costs = argc > 1 && std::strcmp(argv[1], "costs") == 0;
  CompiledPipeline made = compilePipeline(Attention{});
  std::printf("%s", toText(made, {.edges = false, .costs = costs}).c_str());
  if (made.ok())
    return 0;
  std::fprintf(stderr, "%s", soliton::format(made.diagnostics).c_str());
  return 1;
}
