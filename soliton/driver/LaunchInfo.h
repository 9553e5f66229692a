//===- LaunchInfo.h - What a launch must know, read off the kernel ----------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/ir/Machine.h"
#include "soliton/runtime/KernelImage.h"
#include "soliton/transforms/WholeKernel.h"

namespace soliton {

/// Name, target, arguments, symbols, grid, threads and checks of a kernel in its final order; no code yet.
rt::KernelImage describeLaunch(wave::KernelOp kernel, const Geometry &geometry, const WholeKernel &whole);

/// Whether a launch can pass all that the kernel takes.
LogicalResult checkCounts(wave::KernelOp kernel, const rt::KernelImage &image);

/// Whether elements of what the kernel writes have places of their own, as far as numbers say; a launch asks the rest.
LogicalResult checkPlaces(wave::KernelOp kernel, const rt::KernelImage &image);

/// What a launch evaluates for an expression of the symbols that it binds.
rt::LaunchExpr launchExpr(sym::Expr expr, const std::vector<rt::SymbolSpec> &symbols);

/// Adds what the lowered kernel's addresses rely on to what launches check.
void addLimits(rt::KernelImage &image, machine::KernelOp kernel);

/// Adds what the lowered kernel asks of its launch: clusters, tensor maps and what these ask of arguments.
void addNeeds(rt::KernelImage &image, machine::KernelOp kernel);

} // namespace soliton
