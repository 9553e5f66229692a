// What ops of the `wave` dialect say about themselves, so that passes ask them instead of listing op classes.
#ifndef SOLITON_IR_WAVEINTERFACES_TD
#define SOLITON_IR_WAVEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Wave_IndexedOp : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::soliton::wave";
  let description = [{
    An op with index expressions. They speak of SSA values, the op's `symbols`: `$0` in an expression is the first of them.
    What else may occur are sizes, which are the kernel's, and the placeholders that the op itself defines (`$index0`).

    ```mlir
    %0 = wave.read %a[%wg, %k] {starts = [#wave.expr<"64*$0">, #wave.expr<"32*$1">]} : …
    ```
  }];
  let methods = [
    InterfaceMethod<"The index values that the expressions speak of.", "::mlir::OperandRange", "getSymbols">,
    InterfaceMethod<"The same, to be replaced.", "::mlir::MutableOperandRange", "getSymbolsMutable">
  ];
  let verify = [{ return ::soliton::wave::detail::verifyPlaceholders($_op); }];
}

#endif
