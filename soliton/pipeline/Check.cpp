#include "soliton/pipeline/Check.h"

#include <algorithm>
#include <map>
#include <set>

namespace soliton::pipe {
namespace {
class DeclarationCheck {
public:
  DeclarationCheck(const PipelineSchedule &pipeline, std::span<const OpDesc> body)
      : pipeline(pipeline), config(pipeline.config()), declared(pipeline.declareOps()), body(body) {}

  std::vector<Diagnostic> run() {
    // Each makes sense only where the ones before found nothing.
    for (auto check :
         {&DeclarationCheck::checkConfig, &DeclarationCheck::checkCosts, &DeclarationCheck::checkNothingLost,
          &DeclarationCheck::checkChannels, &DeclarationCheck::checkComputes, &DeclarationCheck::checkHalves,
          &DeclarationCheck::checkOperands, &DeclarationCheck::checkStages})
      if (errors.empty())
        (this->*check)();
    return std::move(errors);
  }

private:
  void error(DiagId id, const OpDesc &op, std::string message, std::string hint, std::vector<Note> notes = {}) {
    errors.push_back({Severity::error, id, op.where.place(), std::move(message), std::move(hint), std::move(notes)});
  }
  std::string quoted(const OpDesc &op) const { return "`" + pipeline.text(op) + "`"; }
  int half(size_t i, size_t size) const {
    return static_cast<int>(i / std::max<size_t>(size / config.numPartitions, 1));
  }

  void checkConfig() {
    struct Number {
      const char *name;
      int value;
    };
    OpDesc first = body.empty() ? noOp() : body.front();
    for (const Number &number : {Number{"depth", config.depth},
                                 {"numPartitions", config.numPartitions},
                                 {"mMmas", config.mMmas},
                                 {"nMmas", config.nMmas}})
      if (number.value < 1)
        error(DiagId::PipelineConfig, first,
              "`" + std::string(number.name) + "` is " + std::to_string(number.value) + ", expected at least 1",
              "set it in `target.pipeline`");
    for (const Number &number : {Number{"vmPerLoadA", config.vmPerLoadA}, {"vmPerLoadB", config.vmPerLoadB}})
      if (number.value < 1)
        error(DiagId::PipelineGeometry, first,
              "`" + std::string(number.name) + "` is " + std::to_string(number.value) + ": a load that issues nothing",
              "take a larger tile, or the counts of `fourWaveGeometry` and its like");
  }

  /// Who binds entries to a kernel knows an op by its tag; a prologue has no channels at all.
  void checkChannels() {
    std::map<int, const OpDesc *> first;
    for (const OpDesc &op : body) {
      const OpDesc *known = first.try_emplace(op.tag, &op).first->second;
      if (known->channel == op.channel || !errors.empty())
        continue;
      error(DiagId::PipelineConfig, op,
            "`" + pipeline.tagName(op.tag) + "` is declared for channel " + std::to_string(known->channel) +
                " and for channel " + std::to_string(op.channel),
            "give each operand a tag of its own",
            {{known->where.place(), "for channel " + std::to_string(known->channel) + " here"}});
    }
  }

  void checkComputes() {
    auto count = std::count_if(body.begin(), body.end(), [](const OpDesc &op) { return op.role == OpRole::Compute; });
    if (config.depth >= 2 && count != config.blocks())
      error(DiagId::PipelineConfig, body.front(),
            "the body has " + std::to_string(count) + " compute ops, its structure says " +
                std::to_string(config.blocks()) + " (" + std::to_string(config.numPartitions) + " tiles of " +
                std::to_string(config.mMmas) + "x" + std::to_string(config.nMmas) + ")",
            "set `mMmas`, `nMmas` and `numPartitions` to what is declared");
    std::set<std::tuple<int, int, int>> seen;
    for (size_t i = 0; i < body.size() && config.depth >= 2 && errors.empty(); ++i)
      if (body[i].role == OpRole::Compute &&
          !seen.insert({half(i, body.size()), body[i].stage, body[i].subtile}).second)
        error(DiagId::PipelineConfig, body[i],
              quoted(body[i]) + " is the second compute op of row " + std::to_string(body[i].stage) + ", column " +
                  std::to_string(body[i].subtile) + " for one K tile",
              "give each its own row (`stage`) and column (`subtile`)");
  }

  void checkCosts() {
    if (body.empty())
      error(DiagId::PipelineOperandMissing, noOp(), "the pipeline declares no ops", "declare them in `declareOps`");
    for (const OpDesc &op : body)
      if (op.tag < kFirstFrameworkTag && op.role == OpRole::None)
        error(DiagId::PipelineOpUnknown, op,
              "the target has no cost for " + quoted(op) + " (tag " + std::to_string(op.tag) + ")",
              "set one: `target.costs.set(tag, {…})`");
  }

  /// The op that belongs at the same place of the next half.
  OpDesc counterpart(OpDesc op) const {
    if (!isStaged(op.role))
      return op;
    op.stage = (op.stage + 1) % config.depth;
    op.k = op.k == KOffset::KPrev ? KOffset::K0 : op.k == KOffset::K0 ? KOffset::K1 : op.k;
    return op;
  }

  void checkHalves() {
    if (config.depth < 2 || config.numPartitions != 2)
      return;
    size_t length = body.size() / 2;
    if (body.size() % 2 != 0)
      return error(DiagId::PipelineHalvesDiffer, body.back(),
                   "the body has " + std::to_string(body.size()) + " ops, which are no two equal halves",
                   "declare both by one function: `halves`");
    for (size_t i = 0; i < length; ++i) {
      OpDesc expected = counterpart(body[i]);
      if (body[i + length] != expected)
        return error(DiagId::PipelineHalvesDiffer, body[i + length],
                     "op " + std::to_string(i) + " of the second half is " + quoted(body[i + length]) + ", expected " +
                         quoted(expected),
                     "declare both halves by one function: `halves`",
                     {{body[i].where.place(), "op " + std::to_string(i) + " of the first half is " + quoted(body[i])}});
    }
  }

  /// A name that is read and never written, or a staged tile that no load fills.
  void checkOperands() {
    std::set<std::string> written, reported;
    for (size_t i = 0; i < body.size(); ++i)
      for (const Touch &touch : pipeline.touches(body[i], half(i, body.size())))
        if (touch.write)
          written.insert(touch.name);
    for (size_t i = 0; i < body.size(); ++i)
      for (const Touch &touch : pipeline.touches(body[i], half(i, body.size())))
        if (!touch.write && !written.count(touch.name) && reported.insert(touch.name).second)
          error(DiagId::PipelineOperandMissing, body[i],
                quoted(body[i]) + " reads `" + touch.name + "`, which no op writes",
                "declare the op that fills it, or read another one");
  }

  void checkStages() {
    for (size_t i = 0; i < body.size() && config.depth >= 2; ++i) {
      const OpDesc &op = body[i];
      bool staged = op.role == OpRole::GlobalLoad || op.role == OpRole::FragmentLoad;
      int here = half(i, body.size()), tile = here + pipeline.tilesAhead(op, here);
      int expected = ((tile % config.depth) + config.depth) % config.depth;
      if (staged && op.stage != expected)
        error(DiagId::PipelineStage, op,
              quoted(op) + " is staged in " + std::to_string(op.stage) + ", its K tile lies in stage " +
                  std::to_string(expected),
              "give it stage " + std::to_string(expected) + ", or the K offset of the tile that is meant");
    }
  }

  void checkNothingLost() {
    std::vector<OpDesc> left(body.begin(), body.end());
    for (const OpDesc &op : declared) {
      auto same = std::find_if(left.begin(), left.end(), [&](const OpDesc &other) {
        return other.tag == op.tag && other.channel == op.channel && other.stage == op.stage &&
               other.subtile == op.subtile && other.k == op.k;
      });
      if (same != left.end())
        left.erase(same);
      else
        error(DiagId::PipelineBlockCapacity, op, "no block of the body has room for " + quoted(op),
              "let blocks be larger (`blockSizing`), or declare the order by hand");
    }
  }

  const PipelineSchedule &pipeline;
  PipelineConfig config;
  std::vector<OpDesc> declared;
  std::span<const OpDesc> body;
  std::vector<Diagnostic> errors;
};
} // namespace

std::vector<Diagnostic> checkDeclaration(const PipelineSchedule &pipeline, std::span<const OpDesc> body) {
  return DeclarationCheck(pipeline, body).run();
}

} // namespace soliton::pipe
