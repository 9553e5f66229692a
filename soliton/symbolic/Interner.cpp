//===- Interner.cpp - One node per structure -------------------------------===//
//
// An open-addressing table of atomic pointers. Readers probe without a lock; a writer holds the mutex, probes again
// and publishes. Growing publishes a bigger table and keeps the old one alive, since readers may still probe it.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Interner.h"
#include "soliton/symbolic/Integer.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

namespace soliton::sym::detail {

static constexpr uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  h ^= h >> 32;
  return h;
}

static constexpr uint64_t hashConstant(int64_t value) {
  return mix(static_cast<uint64_t>(value) * 0x9e3779b97f4a7c15ull + 1);
}

/// Kinds in the order in which addends are printed.
static constexpr uint64_t orderOf(Kind kind, uint64_t rest) {
  return static_cast<uint64_t>(kind) << 56 | rest >> 8;
}

static constexpr uint64_t orderOfConstant(int64_t value) {
  return orderOf(Kind::constant, static_cast<uint64_t>(value) ^ (1ull << 63));
}

constinit const Node zeroNode = {Kind::constant,     true, false, 0,        0, 1, 0, 0, hashConstant(0),
                                 orderOfConstant(0), 0,    0,     {nullptr}};

namespace {

/// Memory that is never given back.
class Arena {
public:
  void *allocate(size_t bytes) {
    bytes = (bytes + 7) & ~size_t(7);
    if (bytes > left) {
      size_t chunk = std::max(bytes, size_t(1) << 16);
      at = static_cast<char *>(std::malloc(chunk));
      if (!at)
        throw std::bad_alloc();
      left = chunk;
    }
    void *out = at;
    at += bytes;
    left -= bytes;
    return out;
  }

private:
  char *at = nullptr;
  size_t left = 0;
};

/// What identifies a node before it exists.
struct Key {
  Kind kind;
  uint64_t hash;
  std::span<const Expr> operands;
  int64_t value = 0;
  std::string_view name = {};
  const Node *monomial = nullptr;
};

bool matches(const Node *node, const Key &key) {
  if (node->hash != key.hash || node->kind != key.kind || node->count != key.operands.size())
    return false;
  if (key.kind == Kind::constant)
    return node->value == key.value;
  if (key.kind == Kind::symbol)
    return std::string_view(node->name, node->nameSize) == key.name;
  const Expr *operands = reinterpret_cast<const Expr *>(node + 1);
  for (size_t i = 0; i < key.operands.size(); ++i)
    if (operands[i] != key.operands[i])
      return false;
  return true;
}

struct Table {
  explicit Table(size_t capacity) : mask(capacity - 1), slots(new std::atomic<const Node *>[capacity]()) {}

  /// The node, or the null slot where it belongs.
  const Node *find(const Key &key, size_t *slot) const {
    for (size_t i = key.hash & mask;; i = (i + 1) & mask) {
      const Node *node = slots[i].load(std::memory_order_acquire);
      if (!node || matches(node, key)) {
        *slot = i;
        return node;
      }
    }
  }
  void insert(const Node *node) {
    size_t i = node->hash & mask;
    while (slots[i].load(std::memory_order_relaxed))
      i = (i + 1) & mask;
    slots[i].store(node, std::memory_order_relaxed);
  }

  size_t mask;
  std::unique_ptr<std::atomic<const Node *>[]> slots;
  Table *older = nullptr;
};

bool isPredicateKind(Kind kind) {
  switch (kind) {
  case Kind::lt:
  case Kind::le:
  case Kind::eq:
  case Kind::ne:
  case Kind::logicalAnd:
  case Kind::logicalOr:
  case Kind::logicalNot:
    return true;
  default:
    return false;
  }
}

class Interner {
public:
  const Node *get(const Key &key) {
    size_t slot;
    if (const Node *node = table.load(std::memory_order_acquire)->find(key, &slot))
      return node;
    std::lock_guard lock(mutex);
    Table *now = table.load(std::memory_order_relaxed);
    if (const Node *node = now->find(key, &slot))
      return node;
    const Node *node = create(key);
    if (++used * 2 > now->mask) {
      now = grow(now);
      now->insert(node);
      table.store(now, std::memory_order_release);
    } else {
      now->slots[slot].store(node, std::memory_order_release);
    }
    return node;
  }

  /// A node that no lookup finds.
  const Node *undefined() {
    static const Expr zeros[] = {Expr(), Expr()};
    std::lock_guard lock(mutex);
    Node *node = create({Kind::exactDiv, ++undefinedCount, zeros});
    node->undefined = true;
    return node;
  }

private:
  static Table *grow(Table *old) {
    auto *bigger = new Table((old->mask + 1) * 4);
    for (size_t i = 0; i <= old->mask; ++i)
      if (const Node *node = old->slots[i].load(std::memory_order_relaxed))
        bigger->insert(node);
    bigger->older = old;
    return bigger;
  }

  Node *create(const Key &key) {
    if (key.operands.size() > maxOperands)
      throwError(ErrorKind::tooLarge, "the expression has too many operands in one place");
    unsigned depth = 0;
    for (Expr e : key.operands)
      depth = std::max(depth, e.get()->depth + 1u);
    if (depth > maxDepth)
      throwError(ErrorKind::tooLarge, "the expression is nested too deeply");
    void *memory = arena.allocate(sizeof(Node) + key.operands.size_bytes());
    Node *node = new (memory) Node();
    node->kind = key.kind;
    node->hash = key.hash;
    node->depth = static_cast<uint16_t>(depth);
    node->count = static_cast<uint32_t>(key.operands.size());
    node->value = key.value;
    node->predicate = isPredicateKind(key.kind);
    node->monomial = key.monomial;
    if (key.kind == Kind::symbol)
      setName(node, key.name);
    else if (key.kind == Kind::constant)
      setConstant(node);
    else
      setOperands(node, key.operands);
    return node;
  }

  void setConstant(Node *node) {
    node->predicate = node->value == 0 || node->value == 1;
    node->order = orderOfConstant(node->value);
    node->weight = 1;
  }

  void setName(Node *node, std::string_view name) {
    char *text = static_cast<char *>(arena.allocate(name.size() + 1));
    std::memcpy(text, name.data(), name.size());
    text[name.size()] = 0;
    node->name = text;
    node->nameSize = static_cast<uint32_t>(name.size());
    node->symbols = 1ull << (node->hash >> 58);
    node->weight = 1;
    uint64_t key = 0;
    for (size_t i = 0; i < 8; ++i)
      key = key << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0);
    node->order = orderOf(Kind::symbol, key);
  }

  void setOperands(Node *node, std::span<const Expr> operands) {
    std::memcpy(static_cast<void *>(node + 1), operands.data(), operands.size_bytes());
    unsigned weight = 1;
    node->hasExactDiv = node->kind == Kind::exactDiv;
    for (Expr e : operands) {
      weight = std::min(weight + e.get()->weight, 65535u);
      node->symbols |= e.get()->symbols;
      node->hasExactDiv |= e.get()->hasExactDiv;
    }
    node->weight = static_cast<uint16_t>(weight);
    if (node->kind == Kind::select)
      node->predicate = operands[1].isPredicate() && operands[2].isPredicate();
    node->order = orderOf(node->kind, operands[0].get()->order);
  }

  std::mutex mutex;
  std::atomic<Table *> table{new Table(1 << 12)};
  Arena arena;
  size_t used = 0;
  uint64_t undefinedCount = 0; // their hash
};

Interner &interner() {
  static Interner *instance = new Interner; // immortal: handles may outlive static destruction
  return *instance;
}

/// Small constants, found without probing.
struct SmallConstants {
  static constexpr int64_t lowest = -128, highest = 1024;
  const Node *nodes[highest - lowest + 1];
  SmallConstants() {
    for (int64_t v = lowest; v <= highest; ++v)
      nodes[v - lowest] = v == 0 ? &zeroNode : interner().get({Kind::constant, hashConstant(v), {}, v});
  }
};

} // namespace

const Node *constantNode(int64_t value) {
  static const SmallConstants *small = new SmallConstants;
  if (value >= SmallConstants::lowest && value <= SmallConstants::highest)
    return small->nodes[value - SmallConstants::lowest];
  return interner().get({Kind::constant, hashConstant(value), {}, value});
}

static uint64_t hashOperands(Kind kind, std::span<const Expr> operands) {
  uint64_t h = static_cast<uint64_t>(kind) * 0x9e3779b97f4a7c15ull + operands.size();
  for (Expr e : operands)
    h = (h ^ e.get()->hash) * 0x2545f4914f6cdd1dull + (h >> 29);
  return mix(h);
}

const Node *intern(Kind kind, std::span<const Expr> operands) {
  return interner().get({kind, hashOperands(kind, operands), operands});
}

const Node *internScaled(int64_t coefficient, const Node *monomial) {
  Expr local[8];
  std::unique_ptr<Expr[]> heap;
  std::span<const Expr> factors = Expr(monomial).operands();
  size_t count = monomial->kind == Kind::mul ? factors.size() + 1 : 2;
  Expr *operands = local;
  if (count > 8) {
    heap.reset(new Expr[count]);
    operands = heap.get();
  }
  operands[0] = Expr(coefficient);
  if (monomial->kind == Kind::mul)
    std::copy(factors.begin(), factors.end(), operands + 1);
  else
    operands[1] = Expr(monomial);
  std::span<const Expr> all(operands, count);
  return interner().get({Kind::mul, hashOperands(Kind::mul, all), all, coefficient, {}, monomial});
}

const Node *internSymbol(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (char c : name)
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return interner().get({Kind::symbol, mix(h), {}, 0, name});
}

const Node *makeUndefined() {
  return interner().undefined();
}

int compareStructure(const Node *a, const Node *b) {
  while (a != b) {
    if (a->order != b->order)
      return a->order < b->order ? -1 : 1;
    if (a->undefined || b->undefined)
      return a->undefined != b->undefined ? (b->undefined ? -1 : 1) : a->hash < b->hash ? -1 : 1;
    if (a->kind == Kind::constant)
      return a->value < b->value ? -1 : 1;
    if (a->kind == Kind::symbol)
      return std::string_view(a->name, a->nameSize) < std::string_view(b->name, b->nameSize) ? -1 : 1;
    std::span<const Expr> left = Expr(a).operands(), right = Expr(b).operands();
    size_t i = 0;
    while (i < left.size() && i < right.size() && left[i] == right[i])
      ++i;
    if (i == left.size() || i == right.size())
      return left.size() < right.size() ? -1 : 1;
    a = left[i].get();
    b = right[i].get();
  }
  return 0;
}

} // namespace soliton::sym::detail
