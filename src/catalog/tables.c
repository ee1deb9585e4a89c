/* What the catalog is made of: strings that never move, maps that only grow,
 * arrays of numbers. Names are given for the life of a mount, so nothing here can be taken out. */
#include "catalog_impl.h"

#include "sessionfs/base/fault.h"

#include <sys/random.h>

#define CHUNK 65536

struct chunk {
	struct chunk *older;
	size_t used, size;
	char bytes[];
};

const char *strings_copy(struct strings *s, struct span text)
{
	struct chunk *c = s->newest;
	if (!c || c->size - c->used <= text.n) {
		size_t size = text.n + 1 > CHUNK ? text.n + 1 : CHUNK;
		struct chunk *fresh = malloc(sizeof *fresh + size);
		if (!fresh) {
			fault_note(-ENOMEM);
			return NULL;
		}
		*fresh = (struct chunk){.older = c, .size = size};
		s->newest = c = fresh;
	}
	char *p = c->bytes + c->used;
	if (text.n)
		memcpy(p, text.p, text.n);
	p[text.n] = '\0';
	c->used += text.n + 1;
	return p;
}

void strings_release(struct strings *s)
{
	while (s->newest) {
		struct chunk *older = s->newest->older;
		free(s->newest);
		s->newest = older;
	}
}

int list_add(struct list *l, uint32_t value)
{
	if (!vec_reserve(l, 1))
		return -ENOMEM;
	l->v[l->n++] = value;
	return 0;
}

size_t list_below(const struct list *l, uint64_t value)
{
	size_t low = 0, high = l->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (l->v[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void list_release(struct list *l)
{
	free(l->v);
	*l = (struct list){0};
}

/* Open addressing, linear probing, at most three quarters full; an unused cell has no key. */
struct cell {
	const char *key;
	uint32_t length, scope, hash, value;
};

/* The upper half of the product depends on all bits of both, in a way that only who knows the secrets can foresee. */
static uint64_t mix(const struct map *m, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)word * m->factor;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_of(const struct map *m, uint32_t scope, struct span key)
{
	uint64_t h = mix(m, m->seed ^ scope);
	for (size_t i = 0; i < key.n; i++)
		h = mix(m, h ^ (unsigned char)key.p[i]);
	return (uint32_t)(mix(m, h ^ key.n) >> 32);
}

static struct cell *find(const struct map *m, uint32_t hash, uint32_t scope, struct span key)
{
	for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct cell *c = &m->cells[i];
		if (!c->key || (c->hash == hash && c->scope == scope && span_eq((struct span){c->key, c->length}, key)))
			return c;
	}
}

uint32_t map_get(const struct map *m, uint32_t scope, struct span key)
{
	if (m->n == 0)
		return NONE;
	const struct cell *c = find(m, hash_of(m, scope, key), scope, key);
	return c->key ? c->value : NONE;
}

/* Where there is no other secret, addresses are better than nothing. */
static void take_secrets(struct map *m)
{
	uint64_t some[2] = {(uint64_t)(uintptr_t)m, (uint64_t)(uintptr_t)m * UINT64_C(0x9e3779b97f4a7c15)};
	(void)!getrandom(some, sizeof some, GRND_NONBLOCK);
	m->seed = some[0];
	m->factor = some[1] | 1;
}

static int grow(struct map *m)
{
	if (m->cap == 0)
		take_secrets(m);
	struct map more = *m;
	more.cap = m->cap ? m->cap * 2 : 64;
	more.cells = calloc(more.cap, sizeof *more.cells);
	if (!more.cells) {
		fault_note(-ENOMEM);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->cap; i++) {
		const struct cell *c = &m->cells[i];
		if (c->key)
			*find(&more, c->hash, c->scope, (struct span){c->key, c->length}) = *c;
	}
	free(m->cells);
	*m = more;
	return 0;
}

int map_put(struct map *m, uint32_t scope, struct span key, uint32_t value)
{
	if (m->n + 1 > m->cap / 4 * 3 && grow(m) < 0)
		return -ENOMEM;
	uint32_t hash = hash_of(m, scope, key);
	struct cell *c = find(m, hash, scope, key);
	if (!c->key) {
		*c = (struct cell){.key = key.p, .length = (uint32_t)key.n, .scope = scope, .hash = hash};
		m->n++;
	}
	c->value = value;
	return 0;
}

void map_release(struct map *m)
{
	free(m->cells);
	*m = (struct map){0};
}
