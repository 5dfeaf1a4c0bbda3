// Package iolimit limits how fast readers, writers and network connections pass bytes. An event of
// the limiter is a byte here:
//
//	download := weir.Must(weir.New(weir.TokenBucket{Limit: 1 << 20, Per: time.Second}))
//	w := iolimit.NewWriter(ctx, response, iolimit.Limit{Limiter: download, Key: user})
//	_, err := io.Copy(w, file)
//
// [NewReader], [NewWriter] and [NewConn] take any number of limits. Many readers, writers and
// connections can share a limit: give them the same limiter and the same key. They then take turns,
// in the order in which [weir.KeyedLimiter.Wait] serves its callers. In each turn, one chunk
// passes.
//
// # Chunks
//
// Data moves in chunks, so buffers can be larger than what the limiter grants at once: the Burst of
// a [weir.TokenBucket], the Capacity of a [weir.LeakyBucket], or the Limit of a window. A chunk is
// about an eighth of that amount. It has at most 16 KiB, and at least 512 bytes, or the whole
// amount if that is less. With several limits, the smallest of their sizes is used. Some chunks are
// smaller, for example if fewer bytes are left in the buffer. If the limiter reports a Limit of 0,
// as a [weir.Shadow] does when its store fails, chunks have at most 512 bytes.
//
// With [weir.Tiers], the smallest tier that grants at least 512 bytes at once determines the size.
// Each chunk comes from a single tier. A tier that grants less than 512 bytes at once is used only
// for chunks that fit into it. Do not put Tiers into a [weir.All]: list them as a limit of their
// own. With Tiers inside an All or other Tiers, the largest tier determines the size, and smaller
// tiers may go unused.
//
// A smaller Burst makes the flow smoother. From 4 to 128 KiB, a larger Burst needs fewer calls of
// the limiter. After a change of the policy, a reader or writer changes the size of its chunks
// within 64 chunks.
//
// # Several limits
//
// A chunk waits for its limits one after the other, in their order. List the limit of one
// connection before the limit that all connections share. A chunk that waits for the limit of its
// own connection then holds back no other connection.
//
//   - The last limit is exact: a chunk passes as soon as this limit grants it. In a span of time,
//     no more passes than its policy allows, with the two exceptions below.
//   - Each earlier limit counts a chunk when granting it, and the chunk may pass later. In a span
//     of time, each reader or writer can pass one chunk more than the policy of an earlier limit
//     allows.
//   - If a later limit fails, a reader keeps for its next call what the earlier limits have
//     granted. A writer gives it back to limits whose Limiter has a Return method.
//
// The exceptions for the last limit are:
//
//   - Several writers share the limit, and an underlying Write takes a while and then fails. The
//     bytes that it has not written are given back, and other writers can use them at once. A span
//     of time that began during the failed Write can exceed the policy by these bytes.
//   - The policy changes. A span of time that includes the change can have what both policies allow
//     together.
//
// # Policies
//
// [weir.TokenBucket] fits best. A window works, too, but all its bytes can pass at its start, and
// less than a chunk may be unused at its end. With a [weir.LeakyBucket], all chunks that wait at
// the same time must fit into its Capacity. Otherwise calls fail with [weir.ErrQueueFull].
package iolimit
