// Attributes of the `wave` dialect: expressions, layouts, constraints, origins.
#ifndef SOLITON_IR_WAVEATTRS_TD
#define SOLITON_IR_WAVEATTRS_TD

include "WaveDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Wave_Attr<string name, string attrMnemonic> : AttrDef<Wave_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Wave_ExprAttr : Wave_Attr<"Expr", "expr"> {
  let summary = "an integer expression over symbols";
  let description = [{ Written in quotes: `#wave.expr<"$WG0*64 + 32*$ARG_K">`. }];
  let parameters = (ins AttrParameter<"::soliton::sym::Expr", "the expression">:$value);
  let hasCustomAssemblyFormat = 1;
}
def Wave_ExprArrayAttr : TypedArrayAttrBase<Wave_ExprAttr, "list of expressions">;

def Wave_LayoutAttr : Wave_Attr<"Layout", "layout"> {
  let summary = "which coordinates each (register, lane, wave) holds";
  let description = [{ Written in quotes: `#wave.layout<"reg = (4 M 1), lane = (16 N 1)(4 M 4)">`. }];
  let parameters = (ins AttrParameter<"::soliton::Layout", "the layout", "const ::soliton::Layout &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def Wave_SharedMapAttr : Wave_Attr<"SharedMap", "shared_map"> {
  let summary = "where each coordinate of a tile lies in shared memory";
  let parameters = (ins AttrParameter<"::soliton::SharedMap", "the address map", "const ::soliton::SharedMap &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def Wave_AddressSpace : I32EnumAttr<"AddressSpace", "where a memory lives", [
    I32EnumAttrCase<"Global", 0, "global">, I32EnumAttrCase<"Shared", 1, "shared">]> {
  let cppNamespace = "::soliton::wave";
}

//===-- Constraints ---------------------------------------------------------------------------------------------===//

def Wave_WorkgroupConstraintAttr : Wave_Attr<"WorkgroupConstraint", "workgroup"> {
  let summary = "distributes a dimension over workgroups, `tile` elements each";
  let parameters = (ins "::mlir::StringAttr":$dim, "ExprAttr":$tile, "int64_t":$workgroupDim,
      DefaultValuedParameter<"bool", "true">:$primary,
      OptionalParameter<"ExprAttr", "workgroup id to start, in `$WG`">:$apply,
      OptionalParameter<"ExprAttr", "number of workgroups if not ceil(dim / tile)">:$iters);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_TilingConstraintAttr : Wave_Attr<"TilingConstraint", "tiling"> {
  let summary = "a loop walks this dimension, `tile` elements an iteration";
  let parameters = (ins "::mlir::StringAttr":$dim, "ExprAttr":$tile,
      OptionalParameter<"ExprAttr">:$iters, OptionalParameter<"ExprAttr">:$start);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_WaveConstraintAttr : Wave_Attr<"WaveConstraint", "wave"> {
  let summary = "distributes a workgroup's tile over its waves, `tile` elements each";
  let parameters = (ins "::mlir::StringAttr":$dim, "ExprAttr":$tile);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_HardwareConstraintAttr : Wave_Attr<"HardwareConstraint", "hardware"> {
  let summary = "wave size, waves per workgroup, matrix instruction; absent entries are the target's defaults";
  let parameters = (ins OptionalParameter<"::mlir::IntegerAttr">:$threadsPerWave,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$wavesPerBlock,
      OptionalParameter<"::mlir::StringAttr">:$mma,
      OptionalParameter<"::mlir::DictionaryAttr", "dim to ExprAttr">:$vectorShapes,
      DefaultValuedParameter<"int64_t", "128">:$maxBitsPerLoad);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_GridConstraintAttr : Wave_Attr<"GridConstraint", "grid"> {
  let summary = "a fixed number of workgroups (persistent kernels)";
  let parameters = (ins "ExprAttr":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_ReorderingConstraintAttr : Wave_Attr<"ReorderingConstraint", "reordering"> {
  let summary = "replaces a workgroup id by an expression in all of them";
  let parameters = (ins "ExprAttr":$equation, "int64_t":$workgroupDim);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_SymbolicAliasAttr : Wave_Attr<"SymbolicAlias", "alias"> {
  let summary = "`source` is distributed as `target` is, its tile being `sourceToTarget` of the target's tile (in `$x`)";
  let parameters = (ins "::mlir::StringAttr":$source, "::mlir::StringAttr":$target, "ExprAttr":$sourceToTarget);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_AssumptionAttr : Wave_Attr<"Assumption", "assume"> {
  let summary = "a predicate that holds at every launch (checked there)";
  let parameters = (ins "ExprAttr":$predicate);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===-- Resolved constraints ------------------------------------------------------------------------------------===//

def Wave_DimensionAttr : Wave_Attr<"Dimension", "dimension"> {
  let summary = "how one dimension is distributed: what all constraints together say of it";
  let description = [{
    `start` is where a workgroup's part begins, in the workgroup ids `$WG0` … `$WG4`; with `loopTile` the tile in a loop along
    `axis` begins `loopStart + iteration·loopTile` further. `waves` waves share the workgroup's tile, `waveTile` elements each, in
    the way in which they share `wavesOf` (the dimension itself, or the one that it is an alias of).
    A `tile` of 0 is a size that is known only at launch; one larger than the dimension's part has places beyond its end.
  }];
  let parameters = (ins "::mlir::StringAttr":$dim, "ExprAttr":$size, "int64_t":$tile, "int64_t":$workgroupTile,
      "int64_t":$workgroupDim, "ExprAttr":$start, "int64_t":$loopTile, "ExprAttr":$loopStart, "ExprAttr":$loopCount,
      "::mlir::StringAttr":$axis, "int64_t":$waveTile, "int64_t":$waves, "::mlir::StringAttr":$wavesOf);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Wave_GeometryAttr : Wave_Attr<"Geometry", "geometry"> {
  let summary = "the constraints of a kernel, read once: its dimensions, its grid, its waves";
  let description = [{
    `grid` has one number of workgroups per dimension of the grid; `linear` says that they are launched in one dimension and each
    workgroup takes its number apart. `waves` counts those of a workgroup along the first three dimensions. `assumptions` hold at
    every launch.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::mlir::ArrayAttr":$grid, "bool":$linear,
      "::mlir::DenseI64ArrayAttr":$waves, "int64_t":$waveSize, "int64_t":$accessBytes,
      OptionalParameter<"::mlir::StringAttr">:$mma, "::mlir::ArrayAttr":$assumptions);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===-- Origin --------------------------------------------------------------------------------------------------===//

def Wave_Role : I32EnumAttr<"Role", "what an instruction does for its author's op", [
    I32EnumAttrCase<"Compute", 0, "compute">, I32EnumAttrCase<"GlobalLoad", 1, "global_load">,
    I32EnumAttrCase<"GlobalStore", 2, "global_store">, I32EnumAttrCase<"SharedLoad", 3, "shared_load">,
    I32EnumAttrCase<"SharedStore", 4, "shared_store">, I32EnumAttrCase<"Convert", 5, "convert">,
    I32EnumAttrCase<"CopyAsync", 6, "copy_async">]> {
  let cppNamespace = "::soliton::wave";
}

def Wave_OriginAttr : Wave_Attr<"Origin", "origin"> {
  let summary = "which of the author's ops an instruction belongs to, which piece of it, in which role and copy";
  let parameters = (ins
      AttrParameter<"int64_t", "number of the author's op in program order">:$op,
      "Role":$role,
      OptionalParameter<"::mlir::DictionaryAttr", "dim to ordinal of the piece">:$piece,
      DefaultValuedParameter<"int64_t", "0", "copy by unrolling or pipelining">:$copy,
      OptionalParameter<"::mlir::ArrayAttr", "the author's tags">:$tags);
  let assemblyFormat = "`<` struct(params) `>`";
}

/// On an access of a multi-buffered shared tile (`instance`) and on the loop of a pipeline (`advances`).
def Wave_InstanceAttr : Wave_Attr<"Instance", "instance"> {
  let summary = "which iteration of a pipelined loop this is, as a number";
  let description = [{
    On an access: it works for iteration `iteration` of the loop that became pipeline number `pipeline`, counted from those that the
    trips of the pipeline's kernel have begun so far. Before the kernel that is the iteration itself, inside it 0 is the trip's first, behind
    it 0 is the first that the kernel did not begin. On the kernel: a trip begins `iteration` iterations.
  }];
  let parameters = (ins "int64_t":$pipeline, "int64_t":$iteration);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===-- Element-wise kinds --------------------------------------------------------------------------------------===//

class Wave_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary, !foreach(i, !range(0, !size(cases)), I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::soliton::wave";
}
def Wave_UnaryKind : Wave_Enum<"UnaryKind", "element-wise function of one tile",
    ["abs", "neg", "logical_not", "exp", "exp2", "log", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "sinh",
     "tanh", "erf", "cbrt", "floor", "ceil", "round", "roundeven"]>;
def Wave_BinaryKind : Wave_Enum<"BinaryKind", "element-wise function of two tiles",
    ["add", "sub", "mul", "div", "floordiv", "mod", "max", "min", "bit_and", "bit_or", "bit_xor", "pow", "atan2"]>;
def Wave_ComparePredicate : Wave_Enum<"ComparePredicate", "ordered comparison (signed for integers)",
    ["eq", "ne", "lt", "le", "gt", "ge"]>;
def Wave_ReduceKind : Wave_Enum<"ReduceKind", "how a reduction combines", ["sum", "max", "min", "prod", "any", "all"]>;
def Wave_ExtremeKind : Wave_Enum<"ExtremeKind", "which element of a row is looked for", ["max", "min"]>;
def Wave_AtomicKind : Wave_Enum<"AtomicKind", "how an atomic changes what it finds",
    ["add", "min", "max", "exchange", "bit_and", "bit_or", "bit_xor", "cas"]>;
def Wave_SortOrder : Wave_Enum<"SortOrder", "what comes first", ["ascending", "descending"]>;
def Wave_ShuffleMode : Wave_Enum<"ShuffleMode", "which element of a row each one becomes", ["bfly", "up", "down", "idx"]>;

/// How a `wave.convert` moves data; decided once, by comparing digits.
def Wave_ConvertPlan : Wave_Enum<"ConvertPlanKind", "how data moves between two layouts", ["rename", "shuffle", "shared"]>;

#endif
