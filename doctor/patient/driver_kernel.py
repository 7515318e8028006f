"""Part of the agent driver_proof: the kernel, and the same arithmetic on the CPU."""

from __future__ import annotations

from array import array

THREADS, BLOCKS, ROUNDS = 256, 256, 4
"""65536 elements: more blocks than any GPU has multiprocessors, and a tenth of a second for the CPU to check."""
MULTIPLIER = 0x2545F495
# sm_30 came with PTX ISA 3.0 (CUDA 4.2, driver 295: PTX ISA manual, "PTX release history"), and it is the oldest
# architecture that any driver since 396 runs on (compat_matrix/data/drivers.json). A driver takes every older ISA and
# compiles for the target and whatever is newer, so one text is for all of them.
PTX = b"""\
.version 3.0
.target sm_30
.address_size 64

.visible .entry gpudoctor_mix(.param .u64 source_, .param .u64 result_, .param .u32 seed_, .param .u32 rounds_)
{
    .reg .pred again;
    .reg .u32 block, size, thread, index, input, value, partner, high, low, bits, seed, left;
    .reg .f32 a, b, c;
    .reg .u64 source, result, tile_at, offset, at;
    .shared .align 4 .u32 tile[256];

    ld.param.u64 source, [source_];  cvta.to.global.u64 source, source;
    ld.param.u64 result, [result_];  cvta.to.global.u64 result, result;
    ld.param.u32 seed, [seed_];      ld.param.u32 left, [rounds_];
    mov.u32 block, %ctaid.x;         mov.u32 size, %ntid.x;
    mov.u32 thread, %tid.x;          mad.lo.u32 index, block, size, thread;
    mul.wide.u32 offset, index, 4;   add.u64 at, source, offset;
    ld.global.u32 input, [at];       xor.b32 value, input, seed;
mix:
    mad.lo.u32 value, value, 0x2545F495, index;
    shr.u32 low, value, 13;          xor.b32 value, value, low;
    sub.u32 left, left, 1;           setp.ne.u32 again, left, 0;
    @again bra mix;

    mov.u64 tile_at, tile;           mul.wide.u32 offset, thread, 4;
    add.u64 at, tile_at, offset;     st.shared.u32 [at], value;
    bar.sync 0;
    not.b32 partner, thread;         add.u32 partner, partner, size;
    mul.wide.u32 offset, partner, 4; add.u64 at, tile_at, offset;
    ld.shared.u32 partner, [at];

    mul.hi.u32 high, value, partner;
    shr.u32 low, value, 8;           cvt.rn.f32.u32 a, low;
    shr.u32 low, partner, 8;         cvt.rn.f32.u32 b, low;
    shr.u32 low, input, 8;           cvt.rn.f32.u32 c, low;
    fma.rn.f32 a, a, b, c;           mov.b32 bits, a;
    xor.b32 value, value, high;      xor.b32 value, value, bits;
    mul.wide.u32 offset, index, 4;   add.u64 at, result, offset;
    st.global.u32 [at], value;
    ret;
}
"""


def mixed(source: array[int], seed: int, rounds: int, threads: int = THREADS) -> array[int]:
    """What the kernel makes of unsigned 32-bit numbers, whole blocks of `threads` of them, on the CPU.

    The fused multiply-add takes 24-bit numbers: their product and sum are exact here, and are rounded once, as there.
    """
    values = [value ^ seed for value in source]
    for _ in range(rounds):
        values = [(v := (value * MULTIPLIER + i) & 0xFFFFFFFF) ^ (v >> 13) for i, value in enumerate(values)]
    partners: list[int] = []
    for start in range(0, len(values), threads):
        partners += values[start : start + threads][::-1]
    fused = array("f", map(lambda v, p, x: (v >> 8) * (p >> 8) + (x >> 8), values, partners, source))
    return array("I", map(lambda v, p, bits: v ^ (v * p >> 32) ^ bits, values, partners, array("I", fused.tobytes())))
