"""What numba lacks for memory that processes share: atomics, vectors and calls of the C library.

Addresses are int64. `acquire` and `release` are as in C++: whoever reads a word that was released
also sees all that was written before. On x86 they cost nothing; other processors get their fences.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models, register_default
from numba.extending import intrinsic

_WORD = ir.IntType(64)

sched_yield = types.ExternalFunction("sched_yield", types.int32())
memcpy = types.ExternalFunction("memcpy", types.int64(types.int64, types.int64, types.int64))
poll = types.ExternalFunction("poll", types.int32(types.int64, types.int64, types.int32))
read = types.ExternalFunction("read", types.int64(types.int32, types.int64, types.int64))
write = types.ExternalFunction("write", types.int64(types.int32, types.int64, types.int64))
clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.int64))


def _pointer(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, ir.PointerType(kind))


@intrinsic
def load_acquire(typingctx: Any, address: Any) -> Any:
    """Return the int64 at `address`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(builder, args[0], _WORD), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def store_release(typingctx: Any, address: Any, value: Any) -> Any:
    """Set the int64 at `address`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], _pointer(builder, args[0], _WORD), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def load(typingctx: Any, address: Any) -> Any:
    """Return the int64 at `address`, which no other process writes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(builder, args[0], _WORD), align=8)

    return types.int64(types.int64), generate


@intrinsic
def store(typingctx: Any, address: Any, value: Any) -> Any:
    """Set the int64 at `address`, which no other process reads before something is released."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], _pointer(builder, args[0], _WORD), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def fence(typingctx: Any) -> Any:
    """Order all loads and stores before it before all after it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


class Vector(types.Type):
    """`lanes` numbers of one kind, which the compiler keeps in registers."""

    def __init__(self, kind: Any, lanes: int) -> None:
        self.kind = kind
        self.lanes = lanes
        super().__init__(name=f"Vector({kind}, {lanes})")


@register_default(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        lane = manager[vector.kind].get_value_type()
        super().__init__(manager, vector, ir.VectorType(lane, vector.lanes))


def vector_operations(kind: Any, nbytes: int) -> tuple[Callable[..., Any], ...]:
    """Return (load, add, store) for vectors of `nbytes` bytes of numbers of a numba type.

    `load(address)`, `add(a, b)`, `store(address, vector)`; addresses are multiples of the number's
    own size.
    """
    itemsize = kind.bitwidth // 8
    vector = Vector(kind, nbytes // itemsize)

    @intrinsic
    def load_vector(typingctx: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = _pointer(builder, args[0], context.get_value_type(vector))
            return builder.load(at, align=itemsize)

        return vector(types.int64), generate

    @intrinsic
    def add_vectors(typingctx: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return (builder.fadd if isinstance(kind, types.Float) else builder.add)(*args)

        return vector(vector, vector), generate

    @intrinsic
    def store_vector(typingctx: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = _pointer(builder, args[0], context.get_value_type(vector))
            builder.store(args[1], at, align=itemsize)
            return context.get_dummy_value()

        return types.void(types.int64, vector), generate

    return load_vector, add_vectors, store_vector
