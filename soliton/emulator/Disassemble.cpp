//===- Disassemble.cpp - Names of operations and programs as text ---------===//
//
// For debugging and messages; nothing reads this text back.
//
//   12  s9 = addf s7, s8                : f32 x 4        ; gemm.cpp:31:11
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Program.h"

#include <sstream>

namespace soliton::emu {

template <typename E, size_t N>
static std::string_view lookUp(const std::string_view (&names)[N], E value) {
  auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "?";
}

static std::string_view counterName(uint8_t sub) {
  return sub < kNumCounters ? name(static_cast<CounterKind>(sub)) : "?";
}

std::string_view name(Op op) {
  static constexpr std::string_view names[] = {"end",
                                               "nop",
                                               "const",
                                               "move",
                                               "binary",
                                               "unary",
                                               "fma",
                                               "cmp",
                                               "select",
                                               "convert",
                                               "bitcast",
                                               "splat",
                                               "slice",
                                               "insert",
                                               "concat",
                                               "permute",
                                               "id",
                                               "arg",
                                               "jump",
                                               "jump_if_zero",
                                               "for_begin",
                                               "for_next",
                                               "mask_push",
                                               "mask_else",
                                               "mask_pop",
                                               "load",
                                               "store",
                                               "atomic",
                                               "copy_async",
                                               "copy_tile",
                                               "load_matrix",
                                               "store_matrix",
                                               "mma",
                                               "mma_async",
                                               "commit",
                                               "wait",
                                               "mbarrier.init",
                                               "mbarrier.arrive",
                                               "mbarrier.expect",
                                               "mbarrier.wait",
                                               "barrier",
                                               "cluster.arrive",
                                               "cluster.wait",
                                               "grid.wait",
                                               "fence",
                                               "shuffle",
                                               "ballot",
                                               "uniform",
                                               "swap",
                                               "print"};
  static_assert(std::size(names) == kNumOps);
  return lookUp(names, op);
}

std::string_view name(BinaryOp op) {
  static constexpr std::string_view names[] = {
      "add",        "sub",       "mul",       "mulhi.s", "mulhi.u", "div.s", "div.u",   "rem.s", "rem.u",
      "floordiv.s", "ceildiv.s", "ceildiv.u", "and",     "or",      "xor",   "shl",     "shr.s", "shr.u",
      "min.s",      "max.s",     "min.u",     "max.u",   "addf",    "subf",  "mulf",    "divf",  "remf",
      "minimumf",   "maximumf",  "minnumf",   "maxnumf", "powf",    "atan2", "copysign"};
  static_assert(std::size(names) == kNumBinaryOps);
  return lookUp(names, op);
}

std::string_view name(UnaryOp op) {
  static constexpr std::string_view names[] = {
      "negf",  "absf", "floor", "ceil",  "truncf", "round", "roundeven", "sqrt", "rsqrt", "rcp",     "exp",  "exp2",
      "expm1", "log",  "log2",  "log10", "log1p",  "sin",   "cos",       "tan",  "asin",  "acos",    "atan", "sinh",
      "cosh",  "tanh", "erf",   "cbrt",  "neg",    "abs",   "not",       "clz",  "ctz",   "popcount"};
  static_assert(std::size(names) == kNumUnaryOps);
  return lookUp(names, op);
}

std::string_view name(CmpOp op) {
  static constexpr std::string_view names[] = {"eq",  "ne",    "slt",  "sle",  "sgt",  "sge", "ult", "ule", "ugt",
                                               "uge", "false", "oeq",  "ogt",  "oge",  "olt", "ole", "one", "ord",
                                               "ueq", "ugtf",  "ugef", "ultf", "ulef", "une", "uno", "true"};
  static_assert(std::size(names) == kNumCmpOps);
  return lookUp(names, op);
}

std::string_view name(ConvertOp op) {
  static constexpr std::string_view names[] = {"ext.s",  "ext.u",  "trunc",  "s_to_f",
                                               "u_to_f", "f_to_s", "f_to_u", "f_to_f"};
  static_assert(std::size(names) == kNumConvertOps);
  return lookUp(names, op);
}

std::string_view name(Order order) {
  static constexpr std::string_view names[] = {"plain", "relaxed", "acquire", "release", "acq_rel"};
  return lookUp(names, order);
}

std::string_view name(Scope scope) {
  static constexpr std::string_view names[] = {"workgroup", "device"};
  return lookUp(names, scope);
}

namespace {

class Printer {
public:
  explicit Printer(const Program &program) : program(program) {}

  std::string print() {
    out << "program " << program.name << ": waves " << program.waves << " x " << program.waveSize << ", shared "
        << program.sharedBytes << ", buffers " << program.numBuffers << ", scalars " << program.scalars.size() << '\n';
    for (size_t i = 0; i < program.code.size(); ++i) {
      out << i << '\t';
      printInstr(program.code[i]);
      printPlace(program.code[i]);
    }
    return out.str();
  }

private:
  void slot(Slot s) {
    if (s == kNoSlot)
      out << '_';
    else
      out << 's' << s;
  }

  void address(uint32_t index) {
    if (index >= program.addresses.size()) {
      out << "?";
      return;
    }
    const Address &at = program.addresses[index];
    out << (at.region < program.regions.size() ? program.regions[at.region].name : "?") << '[';
    const char *separator = "";
    for (Slot part : {at.base, at.lane, at.uniform})
      if (part != kNoSlot) {
        out << separator;
        slot(part);
        separator = " + ";
      }
    out << separator << at.immediate << ']';
    if (at.limit != kNoSlot) {
      out << " limit ";
      slot(at.limit);
    }
  }

  std::string_view opName(const Instr &instr) {
    switch (instr.op) {
    case Op::Binary:
      return name(static_cast<BinaryOp>(instr.sub));
    case Op::Unary:
      return name(static_cast<UnaryOp>(instr.sub));
    case Op::Convert:
      return name(static_cast<ConvertOp>(instr.sub));
    default:
      return name(instr.op);
    }
  }

  void printDetails(const Instr &instr) {
    switch (instr.op) {
    case Op::Binary:
    case Op::Unary:
    case Op::Convert:
      break;
    case Op::Id: {
      static constexpr std::string_view ids[] = {"lane",        "wave",   "workgroup 0", "workgroup 1",
                                                 "workgroup 2", "grid 0", "grid 1",      "grid 2"};
      out << ' ' << lookUp(ids, instr.sub);
      break;
    }
    case Op::Cmp:
      out << ' ' << name(static_cast<CmpOp>(instr.sub));
      break;
    case Op::Commit:
      out << ' ' << counterName(instr.sub);
      break;
    case Op::Wait:
      out << ' ' << counterName(instr.sub) << ' ' << instr.imm;
      break;
    case Op::Mma:
    case Op::MmaAsync:
      out << ' ' << (size_t(instr.imm) < program.mmaKinds.size() ? program.mmaKinds[size_t(instr.imm)].name : "?");
      break;
    case Op::Jump:
    case Op::JumpIfZero:
    case Op::ForBegin:
    case Op::ForNext:
    case Op::MaskPush:
    case Op::MaskElse:
      out << " -> " << instr.index;
      break;
    case Op::Barrier:
      out << (instr.flags & kArrives ? " arrives" : "");
      [[fallthrough]];
    default:
      if (instr.sub)
        out << " ." << int(instr.sub);
      if (instr.imm)
        out << " #" << instr.imm;
    }
  }

  void printAddresses(const Instr &instr) {
    switch (instr.op) {
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
    case Op::LoadMatrix:
    case Op::StoreMatrix:
    case Op::MbarrierInit:
    case Op::MbarrierArrive:
    case Op::MbarrierExpect:
    case Op::MbarrierWait:
      out << ' ';
      address(instr.index);
      break;
    case Op::CopyAsync:
    case Op::CopyTile:
      out << ' ';
      address(instr.index);
      out << ", ";
      address(instr.index2);
      break;
    default:
      break;
    }
  }

  void printInstr(const Instr &instr) {
    if (instr.dst != kNoSlot) {
      slot(instr.dst);
      if (instr.dst2 != kNoSlot) {
        out << ", ";
        slot(instr.dst2);
      }
      out << " = ";
    }
    out << opName(instr);
    printDetails(instr);
    if (instr.order != Order::Plain)
      out << ' ' << name(instr.order) << ' ' << name(instr.scope);
    const char *separator = " ";
    size_t last = instr.src.size();
    while (last > 0 && instr.src[last - 1] == kNoSlot)
      --last;
    for (size_t i = 0; i < last; ++i) {
      out << separator;
      slot(instr.src[i]);
      separator = ", ";
    }
    printAddresses(instr);
    printPool(instr);
    if (instr.dst < program.slots.size()) {
      const SlotInfo &info = program.slots[instr.dst];
      out << "\t: " << soliton::name(info.type);
      if (info.count != 1)
        out << " x " << info.count;
      if (info.uniform)
        out << " uniform";
    }
  }

  void printPool(const Instr &instr) {
    if (!instr.poolCount)
      return;
    out << " {";
    for (uint32_t i = 0; i < instr.poolCount && instr.pool + size_t(i) < program.pool.size(); ++i)
      out << (i ? " " : "") << program.pool[instr.pool + i];
    out << '}';
  }

  void printPlace(const Instr &instr) {
    if (instr.place < program.places.size()) {
      const Origin &origin = program.places[instr.place];
      if (origin.place.known())
        out << "\t; " << origin.place.file << ':' << origin.place.line << ':' << origin.place.column;
      if (!origin.what.empty())
        out << (origin.place.known() ? " " : "\t; ") << origin.what;
    }
    out << '\n';
  }

  const Program &program;
  std::ostringstream out;
};

} // namespace

std::string disassemble(const Program &program) {
  return Printer(program).print();
}

} // namespace soliton::emu
