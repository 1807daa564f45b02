#include "core/quota/decay.h"

/* 0.5 ^ (2^-(i+1)) in 2^-64, rounded down */
static const uint64_t roots[64] = {
    0xb504f333f9de6484u, 0xd744fccad69d6af4u, 0xeac0c6e7dd24392eu, 0xf5257d152486cc2cu,
    0xfa83b2db722a033au, 0xfd3e0c0cf486c174u, 0xfe9e115c7b8f884bu, 0xff4ecb59511ec8a5u,
    0xffa756521c8daed1u, 0xffd3a751c0f7e10bu, 0xffe9d2b2f7db2755u, 0xfff4e91bff1b8c3du,
    0xfffa747ea0040664u, 0xfffd3a3b7814eb53u, 0xfffe9d1cc60ddab1u, 0xffff4e8e25879bfau,
    0xffffa7470363f451u, 0xffffd3a37dda0313u, 0xffffe9d1bdf703aeu, 0xfffff4e8debe025eu,
    0xfffffa746f4fa150u, 0xfffffd3a37a3f8b0u, 0xfffffe9d1bd1065au, 0xffffff4e8de845adu,
    0xffffffa746f41376u, 0xffffffd3a37a05e3u, 0xffffffe9d1bd01fbu, 0xfffffff4e8de80c0u,
    0xfffffffa746f4050u, 0xfffffffd3a37a024u, 0xfffffffe9d1bd011u, 0xffffffff4e8de808u,
    0xffffffffa746f404u, 0xffffffffd3a37a02u, 0xffffffffe9d1bd01u, 0xfffffffff4e8de80u,
    0xfffffffffa746f40u, 0xfffffffffd3a37a0u, 0xfffffffffe9d1bd0u, 0xffffffffff4e8de8u,
    0xffffffffffa746f4u, 0xffffffffffd3a37au, 0xffffffffffe9d1bdu, 0xfffffffffff4e8deu,
    0xfffffffffffa746fu, 0xfffffffffffd3a37u, 0xfffffffffffe9d1bu, 0xffffffffffff4e8du,
    0xffffffffffffa746u, 0xffffffffffffd3a3u, 0xffffffffffffe9d1u, 0xfffffffffffff4e8u,
    0xfffffffffffffa74u, 0xfffffffffffffd3au, 0xfffffffffffffe9du, 0xffffffffffffff4eu,
    0xffffffffffffffa7u, 0xffffffffffffffd3u, 0xffffffffffffffe9u, 0xfffffffffffffff4u,
    0xfffffffffffffffau, 0xfffffffffffffffdu, 0xfffffffffffffffeu, 0xffffffffffffffffu,
};

/* The rest of elapsed / half_life is found bit by bit, as by hand; each bit has its root. */
uint64_t decay_left(int64_t elapsed_ms, int64_t half_life_ms)
{
    uint64_t half = (uint64_t)half_life_ms, halvings = (uint64_t)elapsed_ms / half, rest = (uint64_t)elapsed_ms % half;
    uint64_t left = UINT64_MAX;
    if (halvings > 63)
        return 0;
    for (int i = 0; i < 64 && rest; i++) {
        rest *= 2; /* half < 2^63 */
        if (rest < half)
            continue;
        rest -= half;
        left = (uint64_t)((u128)left * roots[i] >> 64);
    }
    return left >> halvings;
}

u128 decay_part(u128 amount, uint64_t fraction)
{
    return (u128)(uint64_t)(amount >> 64) * fraction + ((u128)(uint64_t)amount * fraction >> 64);
}

u128 decay_whole(u128 amount, uint32_t *ret_rest)
{
    u128 whole = 0;
    uint64_t rest = 0;
    for (int shift = 96; shift >= 0; shift -= 32) {
        uint64_t digit = rest << 32 | (uint32_t)(amount >> shift);
        whole = whole << 32 | digit / 1000000000;
        rest = digit % 1000000000;
    }
    *ret_rest = (uint32_t)rest;
    return whole;
}
