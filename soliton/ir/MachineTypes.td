// What ops of the `machine` dialect speak of: types, enumerations and tensor maps.
#ifndef SOLITON_IR_MACHINETYPES_TD
#define SOLITON_IR_MACHINETYPES_TD

include "MachineDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Machine_TypeDef<string name, string typeMnemonic> : TypeDef<Machine_Dialect, name> { let mnemonic = typeMnemonic; }
def Machine_PtrType : Machine_TypeDef<"Ptr", "ptr"> { let summary = "a 64-bit address in global memory, the same in all lanes"; }
def Machine_BufferType : Machine_TypeDef<"Buffer", "buffer"> { let summary = "a 64-bit base and a size in bytes"; }
def Machine_MapType : Machine_TypeDef<"Map", "map"> { let summary = "a tensor map that the launch makes and passes by value"; }

class Machine_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary, !foreach(i, !range(0, !size(cases)), I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::soliton::machine";
}
def Machine_Id : Machine_Enum<"IdKind", "which number", ["lane", "wave", "workgroup0", "workgroup1", "workgroup2",
    "grid0", "grid1", "grid2", "cluster_rank", "cluster0", "cluster1", "cluster2"]>;
def Machine_Counter : Machine_Enum<"Counter", "what is counted", ["vm", "shared", "cp_async", "bulk", "mma"]>;
def Machine_AtomicKind : Machine_Enum<"AtomicKind", "read-modify-write",
    ["add", "min", "max", "umin", "umax", "exchange", "bit_and", "bit_or", "bit_xor", "cas"]>;
def Machine_ShuffleMode : Machine_Enum<"ShuffleMode", "how the source lane is named", ["bfly", "up", "down", "idx"]>;
def Machine_TensorMapAttr : AttrDef<Machine_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a tensor in global memory as tile copies see it";
  let description = [{
    What a launch needs to make the map of one `!machine.map` parameter. `argument` is the number of the `!machine.ptr` parameter
    that the tensor lies at, `offset` bytes behind it; the workspace is such a parameter. `sizes` are its extents in elements,
    innermost first, `strides` the bytes from one index to the next of all dimensions but the innermost, which is contiguous.
    Both are expressions of the symbols among the kernel's parameters, evaluated at launch. A copy moves `box` elements; they
    lie densely in shared memory, innermost first, where chunks of 16 bytes change places within `swizzle` bytes: bits 4 … of
    an address are exchanged by bits 7 … of it.

    With corners, a map of images: the innermost dimension is that of channels, the outermost that of images, those between them are
    the places of a pixel. A copy then moves `box[0]` channels of `box[1]` pixels that follow each other: along a dimension they begin at
    `lower`, advance by `steps` while they are at most `size - 1 + upper`, and go on in the next row and the next image. So windows of
    a filter come as rows of a matrix; a copy says by how much it is off them (`machine.copy_tile`).

    Constraints:
      * (C1) there are one to five sizes, one stride less, and as many extents of the box; two extents where there are corners.
      * (C2) elements are integers or floats of 8, 16, 32 or 64 bits.
      * (C3) the box has 1 to 256 elements along each dimension, up to 1024 pixels, and a multiple of 16 bytes along the innermost.
      * (C4) `swizzle` is 0, 32, 64 or 128; the box's rows are no longer than it, unless it is 0.
      * (C5) where they are numbers, sizes are 0 to 2^32, strides multiples of 16 below 2^40, the offset a multiple of 16.
      * (C6) where there are corners, there are three to five sizes, and a lower and an upper corner and a step for each but the first and
        the last. Corners have 16, 8 or 5 bits, for one, two or three of them; steps are 1 to 8.

    Example:
    ```mlir
    #machine.tensor_map<argument = 0, element = f16, sizes = ["K", "M"], strides = ["2*K"], box = [64, 128], swizzle = 128>
    #machine.tensor_map<argument = 1, element = f32, sizes = [1024], box = [32], offset = "4*M">
    #machine.tensor_map<argument = 0, element = f16, sizes = [512, 28, 28, "B"], strides = [1024, 28672, 802816], box = [64, 128],
                        lower = [-1, -1], upper = [-1, -1], steps = [1, 1], swizzle = 128>
    ```
  }];
  let parameters = (ins "int64_t":$argument, "::mlir::Type":$element, ArrayRefParameter<"::soliton::sym::Expr">:$sizes,
                        OptionalArrayRefParameter<"::soliton::sym::Expr">:$strides, ArrayRefParameter<"int64_t">:$box,
                        "int64_t":$swizzle, "::soliton::sym::Expr":$offset, OptionalArrayRefParameter<"int64_t">:$lower,
                        OptionalArrayRefParameter<"int64_t">:$upper, OptionalArrayRefParameter<"int64_t">:$steps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1; // tensor_map_c1, tensor_map_c2, tensor_map_c3, tensor_map_c4, tensor_map_c5, tensor_map_c6
  let extraClassDeclaration = [{
    size_t rank() const { return getSizes().size(); }
    int64_t elementBytes() const { return getElement().getIntOrFloatBitWidth() / 8; }
    /// What one copy moves and counts on its mbarrier, also where the box leaves the tensor.
    int64_t boxBytes() const;
    /// Whether it is one of images, whose boxes are pixels that follow each other.
    bool hasCorners() const { return !getLower().empty(); }
    /// The bits of a corner, and of what a copy is off by, where so many dimensions are places of a pixel.
    static int64_t cornerBits(size_t dims) { return dims == 1 ? 16 : dims == 2 ? 8 : 5; }
    static constexpr int64_t kMaxStep = 8;
  }];
}
def Machine_TensorMapArrayAttr : TypedArrayAttrBase<Machine_TensorMapAttr, "list of tensor maps">;

def Machine_FenceSpace : Machine_Enum<"FenceSpace", "what is ordered", ["shared_async", "global", "shared"]>;

class Machine_Op<string mnemonic, list<Trait> traits = []> : Op<Machine_Dialect, mnemonic, traits>;
def Machine_Vector : FixedVectorOfRankAndType<[1], [AnyType]>;

// What a wait counts. An access that ticks a counter is no repetition of another one like it and is not dropped where its
// value is not used: the waits behind it count it.
def Machine_CounterResource : Resource<"::soliton::machine::CounterResource">;
def Machine_ReadAndTick : MemoryEffects<[MemRead, MemWrite<Machine_CounterResource>]>;

#endif
