"""Statements of the store. The owner is in every one that touches an owner's rows, except those of the sweep over all
owners, which SWEEPS lists. `{s}` stands for the deployment's schema; `moment` is the database's clock."""

from __future__ import annotations

# Threads

BEGIN_RUN = """
WITH taken AS (
    UPDATE {s}.threads SET run = %(run)s, worker = %(worker)s, fence = fence + 1, before = last,
        updated = {s}.moment(%(now)s)
    WHERE owner = %(owner)s AND id = %(thread)s AND run IS NULL AND NOT EXISTS (
        SELECT FROM {s}.runs WHERE owner = %(owner)s AND thread = %(thread)s AND id = %(run_key)s
        AND digest = %(digest)s
    )
    RETURNING last, fence, size, false AS is_new
), made AS (
    INSERT INTO {s}.threads (owner, id, owner_label, id_label, name, assistant, created, updated, fence, run, worker)
    SELECT %(owner)s, %(thread)s, %(owner_label)s, %(thread_label)s, %(name)s, %(assistant)s, {s}.moment(%(now)s),
        {s}.moment(%(now)s), 1 + COALESCE((SELECT deleted_fence FROM {s}.owners WHERE owner = %(owner)s), 0),
        %(run)s, %(worker)s
    WHERE NOT EXISTS (SELECT FROM {s}.threads WHERE owner = %(owner)s AND id = %(thread)s)
    ON CONFLICT DO NOTHING
    RETURNING last, fence, size, true AS is_new
), begun AS (
    SELECT * FROM taken UNION ALL SELECT * FROM made
), noted AS (
    INSERT INTO {s}.runs (owner, thread, id, digest, number)
    SELECT %(owner)s, %(thread)s, %(run_key)s, %(digest)s, fence FROM begun WHERE %(digest)s <> ''
    ON CONFLICT DO NOTHING RETURNING number
), recorded AS (
    INSERT INTO {s}.kept AS k (owner, kind, key, label, expires, weight, body)
    SELECT %(owner)s, 'note', %(key)s, %(label)s, {s}.moment(%(now)s) + %(seconds)s,
        octet_length(%(body)s::bytea), %(body)s::bytea FROM begun WHERE %(body)s::bytea IS NOT NULL
    ON CONFLICT (owner, kind, key) DO UPDATE SET expires = excluded.expires, weight = excluded.weight, number = DEFAULT,
        body = excluded.body
)
SELECT last, fence, size, is_new, %(digest)s = '' OR EXISTS (SELECT FROM noted) FROM begun
"""
LOCK_THREAD = """
SELECT run, worker, fence, before FROM {s}.threads WHERE owner = %(owner)s AND id = %(thread)s FOR UPDATE
"""
FIND_RUN = """
SELECT number FROM {s}.runs WHERE owner = %(owner)s AND thread = %(thread)s AND id = %(run_key)s AND digest = %(digest)s
"""
TAKE_THREAD = """
WITH noted AS (
    UPDATE {s}.runs SET number = (
        SELECT fence + 1 FROM {s}.threads WHERE owner = %(owner)s AND id = %(thread)s
    ) WHERE owner = %(owner)s AND thread = %(thread)s AND id = %(run_key)s AND digest = %(digest)s
)
UPDATE {s}.threads SET run = %(run)s, worker = %(worker)s, fence = fence + 1, before = last,
    updated = {s}.moment(%(now)s)
WHERE owner = %(owner)s AND id = %(thread)s RETURNING last, fence, size, false
"""
RELEASE_LEASE = """
WITH released AS (
    UPDATE {s}.threads SET run = NULL, worker = NULL WHERE owner = %(owner)s AND id = %(thread)s AND run = %(run)s
    AND worker = %(worker)s AND last > 0
), forgotten AS (
    DELETE FROM {s}.runs AS r USING {s}.threads AS h WHERE r.owner = %(owner)s AND r.thread = %(thread)s
    AND h.owner = r.owner AND h.id = r.thread AND h.run = %(run)s AND h.worker = %(worker)s AND r.number = h.fence
)
DELETE FROM {s}.threads WHERE owner = %(owner)s AND id = %(thread)s AND run = %(run)s AND worker = %(worker)s
AND last = 0
"""
GET_HOLDER = """
SELECT run, worker, fence, before FROM {s}.threads
WHERE owner = %(owner)s AND id = %(thread)s AND run IS NOT NULL
"""
TAKE_OVER = """
WITH moved AS (
    UPDATE {s}.entries SET run = %(next)s WHERE owner = %(owner)s AND thread = %(thread)s AND run = %(fence)s
), noted AS (
    UPDATE {s}.runs SET number = %(next)s WHERE owner = %(owner)s AND thread = %(thread)s AND number = %(fence)s
)
UPDATE {s}.threads SET fence = %(next)s, worker = %(worker)s, stop = CASE WHEN stop = fence THEN %(next)s END
WHERE owner = %(owner)s AND id = %(thread)s
RETURNING last
"""
REQUEST_STOP = """
UPDATE {s}.threads SET stop = fence WHERE owner = %(owner)s AND id = %(thread)s AND run = %(run)s
"""
HAS_THREAD = "SELECT FROM {s}.threads WHERE owner = %(owner)s AND id = %(thread)s"
# A part below the thread's last number is there already: its statement was sent again and comes late. Its rows may be
# in another row by now. One that ends with the last number may be there too, and then changes nothing.
APPEND_ENTRIES = """
WITH lease AS MATERIALIZED (
    SELECT l.*, set_config('synchronous_commit', %(commit)s, true) FROM json_to_recordset(%(leases)s::json)
    AS l (k int, o text, t text, f bigint, n bigint, s bigint, u boolean, e boolean, b text, r text)
), mine AS (
    UPDATE {s}.threads AS h SET last = GREATEST(h.last, l.n),
        size = CASE WHEN l.f = 0 OR h.last < l.n THEN GREATEST(h.size + l.s, 0) ELSE h.size END,
        updated = CASE WHEN l.u THEN {s}.moment(%(now)s) ELSE h.updated END,
        run = CASE WHEN l.e THEN NULL ELSE h.run END, worker = CASE WHEN l.e THEN NULL ELSE h.worker END
    FROM lease AS l WHERE h.owner = l.o AND h.id = l.t AND (l.f = 0 OR h.fence = l.f)
    RETURNING l.k, h.owner, h.id, h.fence, l.n, l.b, l.r, l.f = 0 OR h.last = l.n AS is_new
), part AS MATERIALIZED (
    SELECT m.owner, m.id, m.fence, r.a, r.z, r.c, r.b, r.d
    FROM json_to_recordset(%(rows)s::json) AS r (k int, a bigint, z bigint, c text, b text, d boolean)
    JOIN mine AS m USING (k) WHERE m.is_new
), folded AS (
    DELETE FROM {s}.entries AS e USING part AS p
    WHERE p.d AND e.owner = p.owner AND e.thread = p.id AND e.last >= p.a AND e.last < p.z
), ended AS (
    DELETE FROM {s}.kept AS k USING mine AS m
    WHERE m.r IS NOT NULL AND k.owner = m.owner AND k.kind = 'note' AND k.key = m.r
), added AS (
    INSERT INTO {s}.entries AS e (owner, thread, first, last, run, cuts, body)
    SELECT m.owner, m.id, m.n, m.n, m.fence, '[]', m.b FROM mine AS m WHERE m.is_new AND m.b IS NOT NULL
    UNION ALL
    SELECT p.owner, p.id, p.a, p.z, p.fence, p.c, p.b FROM part AS p
    ON CONFLICT (owner, thread, last) DO UPDATE SET first = excluded.first, cuts = excluded.cuts, body = excluded.body
    WHERE e.first > excluded.first
)
SELECT l.k FROM lease AS l WHERE NOT EXISTS (SELECT FROM mine AS m WHERE m.k = l.k)
AND EXISTS (SELECT FROM {s}.threads AS h WHERE h.owner = l.o AND h.id = l.t)
"""
READ_ENTRIES = """
SELECT first, last, cuts, body FROM (
    SELECT first, last, cuts, body, sum(octet_length(body)) OVER (ORDER BY last) - octet_length(body) AS before
    FROM (
        SELECT first, last, cuts, body FROM {s}.entries
        WHERE owner = %(owner)s AND thread = %(thread)s AND last > %(after)s AND first <= %(until)s
        ORDER BY last LIMIT %(limit)s
    ) AS next
) AS page WHERE before < %(bytes)s ORDER BY last
"""
RUN_START = """
SELECT min(first) FROM {s}.entries WHERE owner = %(owner)s AND thread = %(thread)s AND run = (
    SELECT run FROM {s}.entries WHERE owner = %(owner)s AND thread = %(thread)s AND first <= %(number)s
    ORDER BY last DESC LIMIT 1
)
"""
RUN_ENTRIES = """
SELECT first, last, cuts, body FROM {s}.entries WHERE owner = %(owner)s AND thread = %(thread)s AND run = %(number)s
ORDER BY last
"""
CALL_ENTRIES = """
SELECT first, last, cuts, body FROM {s}.entries WHERE owner = %(owner)s AND thread = %(thread)s
AND (strpos(body, 'CallStart') > 0 OR strpos(body, 'Interrupt') > 0)
"""
GET_THREAD = """
SELECT COALESCE(id_label, id), name, assistant, created, updated, last, size, archived, COALESCE(run, '')
FROM {s}.threads WHERE owner = %(owner)s AND id = %(thread)s
"""
LIST_THREADS = """
SELECT COALESCE(id_label, id), name, assistant, created, updated, last, size, archived, COALESCE(run, '')
FROM {s}.threads WHERE owner = %(owner)s AND (%(archived)s OR NOT archived)
AND (%(assistant)s::text IS NULL OR assistant = %(assistant)s)
ORDER BY updated DESC, id LIMIT %(limit)s OFFSET %(offset)s
"""
UPDATE_THREAD = """
UPDATE {s}.threads SET name = COALESCE(%(name)s, name), archived = COALESCE(%(archived)s, archived)
WHERE owner = %(owner)s AND id = %(thread)s
RETURNING COALESCE(id_label, id), name, assistant, created, updated, last, size, archived, COALESCE(run, '')
"""
DELETE_THREAD = """
WITH gone AS (
    DELETE FROM {s}.threads WHERE owner = %(owner)s AND id = %(thread)s AND (run IS NULL OR %(running)s)
    RETURNING owner, id, fence
), entries AS (
    DELETE FROM {s}.entries AS e USING gone WHERE e.owner = gone.owner AND e.thread = gone.id
), runs AS (
    DELETE FROM {s}.runs AS r USING gone WHERE r.owner = gone.owner AND r.thread = gone.id
), fences AS (
    INSERT INTO {s}.owners AS o (owner, deleted_fence) SELECT owner, fence FROM gone
    ON CONFLICT (owner) DO UPDATE SET deleted_fence = GREATEST(o.deleted_fence, excluded.deleted_fence)
)
SELECT FROM gone
"""
LIST_RUN_SIZES = """
SELECT run, sum(octet_length(body))::bigint FROM {s}.entries WHERE owner = %(owner)s AND thread = %(thread)s
GROUP BY run ORDER BY run
"""
DROP_RUNS = """
WITH entries AS (
    DELETE FROM {s}.entries WHERE owner = %(owner)s AND thread = %(thread)s AND run <= %(number)s
), runs AS (
    DELETE FROM {s}.runs WHERE owner = %(owner)s AND thread = %(thread)s AND number BETWEEN 1 AND %(number)s
)
UPDATE {s}.threads SET size = GREATEST(size - %(size)s, 0) WHERE owner = %(owner)s AND id = %(thread)s
"""
LIST_SURPLUS = """
SELECT owner, id FROM {s}.threads WHERE owner = %(owner)s AND run IS NULL ORDER BY updated
LIMIT GREATEST((SELECT count(*) FROM {s}.threads WHERE owner = %(owner)s) - %(threads)s, 0)
"""

# Take-over and retention: over all owners

LIST_WORKERS = "SELECT DISTINCT worker FROM {s}.threads WHERE run IS NOT NULL"
LIST_STOPS = """
SELECT COALESCE(owner_label, owner), COALESCE(id_label, id), run
FROM {s}.threads WHERE worker = %(worker)s AND run IS NOT NULL AND stop = fence
"""
LIST_ORPHANS = """
SELECT COALESCE(owner_label, owner), COALESCE(id_label, id), run
FROM {s}.threads WHERE worker = ANY(%(workers)s) AND run IS NOT NULL
"""
LOCK_ORPHANS = """
SELECT owner, id, COALESCE(owner_label, owner), COALESCE(id_label, id), run, last, fence, before
FROM {s}.threads AS t WHERE worker = ANY(%(workers)s) AND run IS NOT NULL AND NOT EXISTS (
    SELECT FROM unnest(%(owners)s::text[], %(threads)s::text[], %(runs)s::text[]) AS k (owner, id, run)
    WHERE (k.owner, k.id, k.run) = (t.owner, t.id, t.run)
) LIMIT 50 FOR UPDATE OF t SKIP LOCKED
"""
END_ORPHAN = """
WITH folded AS (
    DELETE FROM {s}.entries WHERE owner = %(owner)s AND thread = %(thread)s AND last = ANY(%(folded)s)
), ends AS (
    INSERT INTO {s}.entries AS o (owner, thread, first, last, run, cuts, body)
    SELECT %(owner)s, %(thread)s, a, z, %(fence)s, c, b
    FROM unnest(%(firsts)s::bigint[], %(numbers)s::bigint[], %(cuts)s::text[], %(bodies)s::text[]) AS e (a, z, c, b)
    ON CONFLICT (owner, thread, last) DO UPDATE SET first = excluded.first, cuts = excluded.cuts, body = excluded.body
)
UPDATE {s}.threads SET last = %(last)s, size = size + %(size)s, fence = fence + 1, run = NULL, worker = NULL,
    updated = {s}.moment(%(now)s)
WHERE owner = %(owner)s AND id = %(thread)s
"""
LIST_EXPIRED = """
SELECT owner, id FROM {s}.threads WHERE run IS NULL AND updated < {s}.moment(%(now)s) - %(seconds)s
ORDER BY updated LIMIT %(limit)s
"""
LIST_OLDEST = """
SELECT owner, id FROM (
    SELECT owner, id, updated, sum(size) OVER (ORDER BY updated, id) - size AS older,
        sum(size) OVER () - %(bytes)s AS surplus
    FROM {s}.threads
) AS sized WHERE older < surplus ORDER BY updated LIMIT %(limit)s
"""
DROP_EXPIRED = """
DELETE FROM {s}.kept WHERE (owner, kind, key) IN (
    SELECT owner, kind, key FROM {s}.kept WHERE expires < {s}.moment(%(now)s) LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
"""
DROP_SURPLUS = """
DELETE FROM {s}.kept WHERE (owner, kind, key) IN (
    SELECT owner, kind, key FROM (
        SELECT owner, kind, key, sum(weight) OVER (PARTITION BY kind ORDER BY number DESC) AS newer FROM {s}.kept
    ) AS weighed WHERE newer > %(capacity)s LIMIT %(limit)s
)
"""
TRY_SWEEP = "SELECT pg_try_advisory_lock(hashtextextended('rightseat sweep ' || %(schema)s, 0))"
END_SWEEP = "SELECT pg_advisory_unlock(hashtextextended('rightseat sweep ' || %(schema)s, 0))"

# Records

PUT_RECORD = """
INSERT INTO {s}.kept AS k (owner, kind, key, label, expires, weight, assistant, waits, claimed, body)
VALUES (%(owner)s, %(kind)s, %(key)s, %(label)s, {s}.moment(%(now)s) + %(seconds)s, %(weight)s, %(assistant)s,
    %(waits)s, %(claimed)s, %(body)s)
ON CONFLICT (owner, kind, key) DO UPDATE SET expires = excluded.expires, weight = excluded.weight, number = DEFAULT,
    assistant = excluded.assistant, waits = excluded.waits, claimed = excluded.claimed, body = excluded.body
"""
PUT_RESULTS = """
INSERT INTO {s}.kept AS k (owner, kind, key, label, expires, weight, body)
SELECT %(owner)s, 'result', r.key, r.label, {s}.moment(%(now)s) + %(seconds)s, octet_length(r.body), r.body
FROM unnest(%(keys)s::text[], %(labels)s::text[], %(bodies)s::bytea[]) AS r (key, label, body)
ON CONFLICT (owner, kind, key) DO UPDATE SET expires = excluded.expires, weight = excluded.weight, number = DEFAULT,
    body = excluded.body
"""
GET_RECORD = """
SELECT body, claimed FROM {s}.kept
WHERE owner = %(owner)s AND kind = %(kind)s AND key = %(key)s AND expires >= {s}.moment(%(now)s)
"""
GET_RESULTS = """
SELECT key, body FROM {s}.kept
WHERE owner = %(owner)s AND kind = 'result' AND key = ANY(%(keys)s) AND expires >= {s}.moment(%(now)s)
"""
TAKE_RECORD = """
DELETE FROM {s}.kept WHERE owner = %(owner)s AND kind = %(kind)s AND key = %(key)s
RETURNING body, expires >= {s}.moment(%(now)s)
"""
DROP_RECORD = "DELETE FROM {s}.kept WHERE owner = %(owner)s AND kind = %(kind)s AND key = %(key)s"
DROP_THREAD_RECORDS = """
DELETE FROM {s}.kept WHERE owner = %(owner)s AND (
    (kind = 'result' AND key = ANY(%(calls)s)) OR (kind = 'continuation' AND key = ANY(%(tokens)s))
    OR (kind = 'note' AND starts_with(COALESCE(label, key), %(prefix)s))
)
"""
CLAIM_CONTINUATION = """
UPDATE {s}.kept SET claimed = %(claim)s
WHERE owner = %(owner)s AND kind = 'continuation' AND key = %(key)s AND expires >= {s}.moment(%(now)s)
AND assistant = %(assistant)s AND waits && %(answered)s::text[] AND (claimed = '' OR claimed = ANY(%(dead)s))
RETURNING body
"""
FIND_CLAIM = """
SELECT claimed FROM {s}.kept
WHERE owner = %(owner)s AND kind = 'continuation' AND key = %(key)s AND expires >= {s}.moment(%(now)s)
AND assistant = %(assistant)s AND waits && %(answered)s::text[] AND claimed <> ''
"""
SETTLE_CONTINUATION = """
DELETE FROM {s}.kept WHERE owner = %(owner)s AND kind = 'continuation' AND key = %(key)s AND claimed = %(claim)s
"""
RELEASE_CONTINUATION = """
UPDATE {s}.kept SET claimed = ''
WHERE owner = %(owner)s AND kind = 'continuation' AND key = %(key)s AND claimed = %(claim)s
"""
LOCK_RECORD = "SELECT pg_advisory_xact_lock(hashtextextended(%(owner)s || '/' || %(key)s, hashtext(%(schema)s)))"

# Replicas: rows of the processes, no owner has them

JOIN = """
WITH beat AS (
    INSERT INTO {s}.replicas (id, address, version, config)
    VALUES (%(worker)s, %(address)s, %(version)s, %(config)s)
    ON CONFLICT (id) DO UPDATE SET beat = now(), config = excluded.config
)
SELECT 1 + count(*), count(*) FILTER (WHERE %(config)s <> '' AND config NOT IN ('', %(config)s))
FROM {s}.replicas WHERE id <> %(worker)s AND beat > now() - make_interval(secs => %(lease)s)
"""
LOCK_REPLICA = "SELECT pg_try_advisory_lock(%(lock)s)"
LIST_REPLICAS = """
SELECT id, address, version, extract(epoch FROM now() - beat)::float8 FROM {s}.replicas ORDER BY started, id
"""
LIST_LOCKS = """
SELECT classid::bigint, objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
READ_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
LEAVE = "DELETE FROM {s}.replicas WHERE id = %(worker)s"
FORGET_REPLICAS = "DELETE FROM {s}.replicas WHERE beat < now() - make_interval(secs => %(seconds)s)"
FIND_DEAD = """
SELECT w.id FROM unnest(%(workers)s::text[], %(locks)s::bigint[]) AS w (id, lock) LEFT JOIN {s}.replicas AS r
ON r.id = w.id
WHERE r.id IS NULL OR (pg_postmaster_start_time() < now() - make_interval(secs => %(lease)s) AND (
    r.beat < now() - make_interval(secs => %(lease)s)
    OR (r.beat < now() - make_interval(secs => %(silence)s) AND NOT EXISTS (
        SELECT FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND l.classid = ((w.lock >> 32) & 4294967295)::oid AND l.objid = (w.lock & 4294967295)::oid
    ))
))
"""
SWEEPS = (
    *(
        LIST_WORKERS,
        LIST_STOPS,
        LIST_ORPHANS,
        LOCK_ORPHANS,
        LIST_EXPIRED,
        LIST_OLDEST,
        DROP_EXPIRED,
        DROP_SURPLUS,
        TRY_SWEEP,
        END_SWEEP,
        READ_CLOCK,
    ),
    *(JOIN, LOCK_REPLICA, LIST_REPLICAS, LIST_LOCKS, LEAVE, FORGET_REPLICAS, FIND_DEAD),
)
"""Statements over all owners: they give no owner's rows to a request."""
