//===- Sha256.h - The hash of FIPS 180-4 -------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace soliton {

/// `sha256("abc")` is ba7816bf…f20015ad.
std::array<uint8_t, 32> sha256(std::string data);

} // namespace soliton
