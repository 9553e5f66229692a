//===- SimtTracing.h - What ops of one lane ask of the program ---------------------===//
//
// Which lanes run, and what the ids in an expression are on the places of their tile.
//
//   checkLane(tracer) && checkLaneSymbols(tracer, expr)   then   onPlaces(thread_id(), {WAVES, LANES})
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Tracer.h"

namespace soliton::frontend {

/// Whether lanes are spoken of here; reports it if not.
bool checkLane(Tracer &tracer);
/// Whether the lanes that run have the ids of which `expr` speaks.
bool checkLaneSymbols(Tracer &tracer, Expr expr);
/// Whether a symbol is an id of a lane or a coordinate of an element.
bool isLaneSymbol(Expr symbol);
/// `expr` with the ids as places `$index<k>` of a tile of these dimensions.
Expr onPlaces(Expr expr, const std::vector<Expr> &dims);
/// `i1`: elements of these dimensions that are inside their tensor.
Value insideTensor(Kernel kernel, const std::vector<Expr> &dims, const Place &place);

/// The dimension of vectors of `n`, which the program binds.
Expr vectorDim(Program &program, int64_t n);
bool isVectorDim(const Program &program, Expr dim);

/// A kernel with `Simt` gets the constraints that it stands for, and its lanes.
void distributeLanes(const std::shared_ptr<Program> &program);

} // namespace soliton::frontend
