// The `wave` dialect: kernels on tiles with symbolic shapes, from the traced program to the synchronized one.
#ifndef SOLITON_IR_WAVEDIALECT_TD
#define SOLITON_IR_WAVEDIALECT_TD

include "mlir/IR/OpBase.td"

def Wave_Dialect : Dialect {
  let name = "wave";
  let cppNamespace = "::soliton::wave";
  let summary = "kernels on tiles: what is computed, who holds it, where it lives and when it happens";
  let description = [{
    A `wave.kernel` computes on *tiles*: the part of a tensor that one workgroup owns. Dimensions are symbols (`M`, `K`);
    constraints on the kernel say how each is distributed over workgroups, waves and loop iterations. The same ops serve
    every form of the program, from the author's text to the expanded one in which an op is one instruction:
    a tile's type then carries a layout, and the op means the same thing on the coordinates that the layout covers.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerWaveAttributes();
    void registerWaveTypes();
  }];
}

#endif
