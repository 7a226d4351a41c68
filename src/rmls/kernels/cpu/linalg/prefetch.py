"""Ask the processor for a row of a matrix before it is needed."""

from __future__ import annotations

from rmls.kernels.jit import hint, njit

LINE = 16  # float32 numbers in a cache line of 64 bytes
AHEAD = 2  # rows between asking and using


@hint
def _prefetch(typingctx, array, row, column):
    """Emit LLVM's prefetch for writing of one element, into all cache levels."""
    # Inside: only who compiles has them.
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    signature = types.void(array, row, column)

    def codegen(context, builder, signature, arguments):
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, arguments[0])
        indices = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(arguments[1:], signature.args[1:], strict=True)
        ][: array_type.ndim]
        pointer = cgutils.get_item_pointer(context, builder, array_type, array, indices)
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        # For writing (1), to be kept in all caches (3), data and not code (1).
        builder.call(function, [builder.bitcast(pointer, byte), flag(1), flag(3), flag(1)])
        return context.get_dummy_value()

    return signature, codegen


@njit(cache=True, inline="always")
def prefetch_row(matrix, row):
    """Ask for all of ``matrix[row]``; changes nothing that can be observed but time."""
    for column in range(0, matrix.shape[1], LINE):
        _prefetch(matrix, row, column)


@njit(cache=True, inline="always")
def prefetch_number(vector, index):
    """Ask for ``vector[index]``; changes nothing that can be observed but time."""
    _prefetch(vector, index, 0)
