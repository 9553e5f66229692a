//===- SymbolicBench.cpp - Build, substitute and simplify the corpus -------===//
//
// Replays corpus.txt with Soliton's operators, as a frontend would, then binds the tile sizes and simplifies. Prints
// one JSON object; compare.py runs it and sets it against SymPy.
//
//   python3 corpus.py > corpus.txt && SymbolicBench corpus.txt > ours.json
//
// first:   the first time in this process, when every node is new; processor time, since there is only one try
// again:   the median of later rounds, every memo dropped before each expression (nodes stay interned)
// warm:    the median of later rounds, memos kept
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Expr.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace soliton::sym;

namespace {

struct Instruction {
  std::string name;
  std::vector<int64_t> operands;
  std::string symbol;
};

struct Entry {
  std::string name;
  std::vector<Instruction> program;
  Substitution bindings;
  Facts natural; // only that symbols are not negative, or positive: what SymPy is told
  Facts full;    // upper bounds too
  std::vector<std::pair<int64_t, Environment>> values;
};

void readInstruction(std::istringstream &line, Entry &entry) {
  Instruction instruction;
  line >> instruction.name;
  if (instruction.name == "symbol") {
    line >> instruction.symbol;
  } else {
    for (int64_t operand; line >> operand;)
      instruction.operands.push_back(operand);
  }
  entry.program.push_back(std::move(instruction));
}

void readLine(std::istringstream &line, const std::string &word, Entry &entry) {
  std::string name, text;
  if (word == "op") {
    readInstruction(line, entry);
  } else if (word == "bind") {
    int64_t value;
    line >> name >> value;
    entry.bindings.set(Expr::symbol(name), value);
  } else if (word == "range") {
    int64_t lo;
    line >> name >> lo >> text;
    entry.natural.setRange(Expr::symbol(name), {lo, std::nullopt});
    entry.full.setRange(Expr::symbol(name), {lo, text == "-" ? std::nullopt : std::optional(std::stoll(text))});
  } else if (word == "value") {
    entry.values.emplace_back();
    line >> entry.values.back().first;
    while (line >> text) {
      size_t equals = text.find('=');
      entry.values.back().second.set(Expr::symbol(text.substr(0, equals)), std::stoll(text.substr(equals + 1)));
    }
  }
}

std::vector<Entry> readCorpus(const char *path) {
  std::ifstream file(path);
  std::vector<Entry> out;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "expression") {
      out.emplace_back();
      line >> out.back().name;
    } else if (!out.empty()) {
      readLine(line, word, out.back());
    }
  }
  return out;
}

using Operation = Expr (*)(const Expr *);

/// An instruction with its operation looked up.
struct Step {
  Operation operation = nullptr; // none: a constant or a symbol
  Expr leaf;
  std::string symbol;
  size_t operands[3] = {};
};

Operation operationOf(const std::string &name) {
  static const std::pair<const char *, Operation> table[] = {
      {"add", [](const Expr *x) { return x[0] + x[1]; }},
      {"sub", [](const Expr *x) { return x[0] - x[1]; }},
      {"mul", [](const Expr *x) { return x[0] * x[1]; }},
      {"floordiv", [](const Expr *x) { return floordiv(x[0], x[1]); }},
      {"ceildiv", [](const Expr *x) { return ceildiv(x[0], x[1]); }},
      {"mod", [](const Expr *x) { return mod(x[0], x[1]); }},
      {"xor", [](const Expr *x) { return bitXor(x[0], x[1]); }},
      {"minimum", [](const Expr *x) { return min(x[0], x[1]); }},
      {"lt", [](const Expr *x) { return lt(x[0], x[1]); }},
      {"le", [](const Expr *x) { return le(x[0], x[1]); }},
      {"conj", [](const Expr *x) { return logicalAnd(x[0], x[1]); }},
      {"select", [](const Expr *x) { return select(x[0], x[1], x[2]); }},
  };
  for (const auto &[known, operation] : table)
    if (name == known)
      return operation;
  throw std::runtime_error("the corpus has an unknown operation " + name);
}

std::vector<Step> stepsOf(const Entry &entry) {
  std::vector<Step> out;
  for (const Instruction &instruction : entry.program) {
    Step step;
    if (instruction.name == "const")
      step.leaf = Expr(instruction.operands[0]);
    else if (instruction.name == "symbol")
      step.symbol = instruction.symbol;
    else
      step.operation = operationOf(instruction.name);
    for (size_t i = 0; step.operation && i < instruction.operands.size(); ++i)
      step.operands[i] = static_cast<size_t>(instruction.operands[i]);
    out.push_back(std::move(step));
  }
  return out;
}

/// The expression, through the public operators; symbols are looked up by name each time.
Expr buildOf(const std::vector<Step> &steps) {
  Expr values[128];
  size_t count = 0;
  for (const Step &step : steps) {
    if (!step.operation) {
      values[count++] = step.symbol.empty() ? step.leaf : Expr::symbol(step.symbol);
      continue;
    }
    const Expr operands[] = {values[step.operands[0]], values[step.operands[1]], values[step.operands[2]]};
    values[count++] = step.operation(operands);
  }
  return values[count - 1];
}

struct Times {
  double build = 0, substitute = 0, simplify = 0; // microseconds
  double total() const { return build + substitute + simplify; }
};

struct Outcome {
  Expr result;
  Times times;
};

/// Microseconds of wall time, or of this thread's processor time.
double now(bool processorTime) {
  timespec time;
  clock_gettime(processorTime ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

Outcome runOnce(const Entry &entry, const std::vector<Step> &steps, const Facts &facts, bool processorTime = false) {
  double start = now(processorTime);
  Expr built = buildOf(steps);
  double afterBuild = now(processorTime);
  Expr bound = substitute(built, entry.bindings);
  double afterSubstitute = now(processorTime);
  Expr result = simplify(bound, facts);
  double end = now(processorTime);
  return {result, {afterBuild - start, afterSubstitute - afterBuild, end - afterSubstitute}};
}

/// The median of many rounds over the whole corpus.
std::vector<Times> medians(const std::vector<Entry> &corpus, const std::vector<std::vector<Step>> &programs,
                           bool keepMemos) {
  constexpr int rounds = 51;
  std::vector<std::vector<Times>> all(corpus.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < corpus.size(); ++i) {
      if (!keepMemos)
        clearCaches();
      all[i].push_back(runOnce(corpus[i], programs[i], corpus[i].natural).times);
    }
  }
  std::vector<Times> out;
  for (std::vector<Times> &times : all) {
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end(),
                     [](const Times &a, const Times &b) { return a.total() < b.total(); });
    out.push_back(times[rounds / 2]);
  }
  return out;
}

bool isRight(const Entry &entry, Expr result) {
  return std::all_of(entry.values.begin(), entry.values.end(),
                     [&](const auto &sample) { return evaluate(result, sample.second) == sample.first; });
}

void printTimes(const char *label, const Times &times) {
  std::cout << "\"" << label << "\": {\"build\": " << times.build << ", \"substitute\": " << times.substitute
            << ", \"simplify\": " << times.simplify << "}, ";
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: SymbolicBench corpus.txt > ours.json\n";
    return 2;
  }
  std::vector<Entry> corpus = readCorpus(argv[1]);
  std::vector<std::vector<Step>> programs;
  for (const Entry &entry : corpus)
    programs.push_back(stepsOf(entry));
  std::vector<Outcome> first;
  for (size_t i = 0; i < corpus.size(); ++i) {
    clearCaches();
    first.push_back(runOnce(corpus[i], programs[i], corpus[i].natural, true));
  }
  std::vector<Times> again = medians(corpus, programs, false), warm = medians(corpus, programs, true);
  bool right = true;
  std::cout << "{\"expressions\": [\n";
  for (size_t i = 0; i < corpus.size(); ++i) {
    Outcome full = runOnce(corpus[i], programs[i], corpus[i].full);
    bool ok = isRight(corpus[i], first[i].result) && isRight(corpus[i], full.result);
    right &= ok;
    std::cout << "{\"name\": \"" << corpus[i].name << "\", \"right\": " << (ok ? "true" : "false") << ", ";
    printTimes("first", first[i].times);
    printTimes("again", again[i]);
    printTimes("warm", warm[i]);
    std::cout << "\"nodes\": " << nodeCount(first[i].result) << ", \"nodes_full_facts\": " << nodeCount(full.result)
              << ", \"result\": \"" << toString(first[i].result) << "\", \"result_full_facts\": \""
              << toString(full.result) << "\"}" << (i + 1 < corpus.size() ? "," : "") << "\n";
  }
  std::cout << "]}\n";
  return right ? 0 : 1;
}
