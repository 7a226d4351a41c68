"""Numbers of 64 bits as sets of places: found all at once, visited one by one."""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import in_llvm, njit

PLACES = 64

_ONE = np.uint64(1)
_PAIRS, _FOURS, _EIGHTS = (
    np.uint64(mask) for mask in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
_BYTES = np.uint64(0x0101010101010101)


def _mark(scores, start, bound):
    """Return the set of the 64 places from ``start`` on whose scores are not below a bound."""
    marked = ~(scores[start : start + np.uint64(PLACES)] < bound)
    return np.packbits(marked, bitorder="little").view("<u8")[0]


@in_llvm(_mark)
def mark_places(typingctx, scores, start, bound):
    """Emit one comparison of 64 numbers; from a loop the compiler makes 64 of one."""
    # Inside: only who compiles has them.
    from llvmlite import ir
    from numba import types

    # Other layouts have gaps between two numbers: no such kernel.
    if scores.layout != "C":
        return None
    signature = types.uint64(scores, types.uint64, types.float32)

    def codegen(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = ir.VectorType(ir.FloatType(), PLACES)
        place = builder.gep(array.data, [arguments[1]])
        found = builder.load(builder.bitcast(place, vector.as_pointer()))
        found.align = 4
        nothing, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        bound = builder.insert_element(nothing, arguments[2], first)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), PLACES), [0] * PLACES)
        bound = builder.shuffle_vector(bound, nothing, everywhere)
        # Or not a number: "not below".
        marked = builder.fcmp_unordered(">=", found, bound)
        return builder.bitcast(marked, ir.IntType(PLACES))

    return signature, codegen


@njit(cache=True, nogil=True, inline="always")
def count_places(places):
    """Return how many places are in a set; the compiler knows this as one instruction."""
    places = places - ((places >> _ONE) & _PAIRS)
    places = (places & _FOURS) + ((places >> np.uint64(2)) & _FOURS)
    places = (places + (places >> np.uint64(4))) & _EIGHTS
    return np.int64((places * _BYTES) >> np.uint64(56))


@njit(cache=True, nogil=True, inline="always")
def first_place(places):
    """Return the lowest place of a set that has any."""
    # Below the lowest bit there are as many as its place says.
    return count_places(~places & (places - _ONE))


@njit(cache=True, nogil=True, inline="always")
def without_first(places):
    """Return a set without its lowest place."""
    return places & (places - _ONE)
