/* core_shares.c - pods that ask for parts of GPUs: drawn, and what must hold of every GPU
 *
 * In worlds with shares every node names its GPUs, each as a device that is given whole and as one that is given in parts.
 */
#include "core_model.h"

void random_share(struct model *m, struct kind *k)
{
    if (!m->shares || chance(m, 400))
        return;
    uint32_t what = pick(m, 3); /* both, parts, memory */
    k->milli = what == 2 ? 0 : 100 * (1 + (int)pick(m, chance(m, 200) ? 10 : 6));
    k->gib = what == 1 ? 0 : 1 + (int)pick(m, chance(m, 200) ? GPU_GIB : 9);
    k->ask[RES_GPU] = chance(m, 300);
}

static bool has_share(const struct kind *k)
{
    return k->milli || k->gib;
}

bool asks_quota_for_shares(const struct m_gang *g)
{
    for (int i = 0; i < g->sets_n; i++)
        if (!g->sets[i].is_charged && has_share(&g->sets[i].kind) && set_fewest(&g->sets[i]) > 0)
            return true;
    return false;
}

static bool names(const char *devices, const char *resource, int device)
{
    const char *at = strstr(devices, resource);
    for (at = at ? strchr(at, '=') : NULL; at && *at && *at != ';'; at = strpbrk(at + 1, ",;"))
        if (strtol(at + 1, NULL, 10) == device)
            return true;
    return false;
}

bool names_device(const char *devices, int device)
{
    return names(devices, "nvidia.com/gpu=", device);
}

bool names_share(const char *devices, int device)
{
    return names(devices, GPU_SHARE_MILLI "=", device);
}

void share_left(const struct cluster *c, const struct assumed *assumed, int node, struct fit_share *ret_share)
{
    const struct m_node *n = &c->nodes[node];
    struct fit_share s = {.milli = GPU_MILLI * n->room[RES_GPU], .gib = GPU_GIB * n->room[RES_GPU]};
    for (int i = 0; i < PODS; i++)
        if (node_of(&c->pods[i], assumed ? &assumed[i] : NULL) == node) {
            s.milli -= c->pods[i].kind.milli;
            s.gib -= c->pods[i].kind.gib;
        }
    for (int d = n->sick; d < n->room[RES_GPU]; d++) {
        struct fit_gpu gpu = {GPU_MILLI, GPU_GIB, true};
        bool shared = false, whole = false;
        for (int i = 0; i < PODS; i++) {
            const struct m_pod *p = &c->pods[i];
            const char *devices = node_of(p, assumed ? &assumed[i] : NULL) == node ? devices_of(p, assumed ? &assumed[i] : NULL) : "";
            bool share = names_share(devices, d), device = names_device(devices, d);
            gpu.milli -= share ? p->kind.milli : 0;
            gpu.gib -= share ? p->kind.gib : 0;
            gpu.device &= !device;
            shared |= share;
            whole |= device && !share;
        }
        s.untouched += !shared && !whole;
        if (shared && !whole)
            s.given[s.given_n++] = gpu;
    }
    *ret_share = s;
}

bool share_take(const struct kind *k, struct fit_share *s, int at)
{
    if ((k->milli && k->milli > s->milli) || (k->gib && k->gib > s->gib) || (at == s->given_n && !s->untouched))
        return false; /* below nothing where GPUs have gone under who has them: that hinders only who asks for some */
    if (at == s->given_n) {
        s->untouched--;
        s->given[s->given_n++] = (struct fit_gpu){GPU_MILLI, GPU_GIB, true};
    }
    struct fit_gpu *gpu = &s->given[at];
    if (gpu->milli <= 0 || k->milli > gpu->milli || (k->gib && k->gib > gpu->gib) || (k->ask[RES_GPU] && !gpu->device))
        return false;
    gpu->milli -= k->milli;
    gpu->gib -= k->gib;
    gpu->device &= !k->ask[RES_GPU];
    s->milli -= k->milli;
    s->gib -= k->gib;
    return true;
}

int64_t share_most(const struct kind *k, const struct fit_share *share, int64_t most)
{
    struct fit_share s = *share;
    if (!has_share(k))
        return k->ask[RES_GPU] && s.untouched / k->ask[RES_GPU] < most ? s.untouched / k->ask[RES_GPU] : most;
    for (int64_t n = 0; n < most; n++) {
        bool taken = false;
        for (int at = 0; at <= s.given_n && !taken; at++) {
            struct fit_share before = s;
            taken = share_take(k, &s, at);
            if (!taken)
                s = before;
        }
        if (!taken)
            return n;
    }
    return most;
}

void check_shares(struct model *m, const struct cluster *c, const struct assumed *assumed)
{
    for (int n = 0; n < NODES && m->shares; n++)
        for (int d = 0; d < c->nodes[n].room[RES_GPU]; d++) {
            int milli = 0, gib = 0, shares_n = 0, whole_n = 0;
            for (int i = 0; i < PODS; i++) {
                const struct m_pod *p = &c->pods[i], *now = &m->api.pods[i];
                if (p->denied || (now->denied && now->serial == p->serial))
                    continue;
                const char *devices = node_of(p, assumed ? &assumed[i] : NULL) == n ? devices_of(p, assumed ? &assumed[i] : NULL) : "";
                bool share = names_share(devices, d);
                if (share != (has_share(&p->kind) && share))
                    die(m, "ns/p%u asks for no share and was given one of GPU %d of n%d", p->name, d, n);
                shares_n += share;
                milli += share ? p->kind.milli : 0;
                gib += share ? p->kind.gib : 0;
                whole_n += names_device(devices, d) && !share;
            }
            if (milli > GPU_MILLI || gib > GPU_GIB || (shares_n && whole_n) || whole_n > 1)
                die(m, "GPU %d of n%d: %d thousandths and %d GiB in %d shares, %d have it whole", d, n, milli, gib, shares_n, whole_n);
        }
}
