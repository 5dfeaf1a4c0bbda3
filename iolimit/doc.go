// Package iolimit limits the bytes a second of readers, writers and network connections. An event
// of the limiter is a byte here:
//
//	download := weir.Must(weir.New(weir.TokenBucket{Limit: 1 << 20, Per: time.Second}))
//	w := iolimit.NewWriter(ctx, response, iolimit.Limit{Limiter: download, Key: user})
//	_, err := io.Copy(w, file)
//
// [NewReader], [NewWriter] and [NewConn] take any number of limits. Many of them can share a limit:
// give them the same limiter and the same key. They then take turns, first come, first served, a
// chunk at a time.
//
// # Chunks
//
// Buffers can be of any size, also larger than the limiter ever grants at once. Data moves in
// chunks. Their size is about an eighth of what the limiter grants at once, which is the Burst of a
// bucket, or the Limit of a window. With [weir.Tiers], it is about an eighth of the smallest tier
// that grants at least 512 bytes at once: one tier pays for a whole chunk, and no tier pays for a
// chunk that is larger than the tier. A chunk has at most 16 KiB. It has at least 512 bytes, or all
// that the limiter grants at once if that is less. While the limiter does not report how much that
// is, as a [weir.Shadow] whose store is away, a chunk has 512 bytes.
//
// A smaller Burst makes the flow smoother, and a larger one needs fewer calls. After a change of
// the policy, the size changes within 64 chunks.
//
// # Several limits
//
// A chunk waits for its limits one after the other, in their order. List the limit of one
// connection before the limit of all of them: a chunk that waits for its own limit then holds back
// nobody else.
//
//   - The last limit is exact. In no span of time does more pass than its policy allows. There are
//     two exceptions. If several writers share the limit, and an underlying Write takes a while and
//     then fails, its bytes are given back. Other writers can use them at once. A span of time that
//     began during that Write can have that many bytes more. If the policy changes, a span of time
//     over the change can have what the old policy and the new one allow together.
//   - Each earlier limit counts a chunk when it grants it, and the chunk may pass later. In such a
//     limit, a span can have one chunk more for each reader or writer.
//   - If a later limit fails, a reader keeps for its next call what the earlier limits have
//     granted. A writer gives it back.
//
// # Policies
//
// [weir.TokenBucket] fits best. A window fits, too: it lets its bytes go at its start, and may
// leave less than a chunk unused at its end. With a [weir.LeakyBucket], all bytes that wait must
// fit into its Capacity. Otherwise calls fail with [weir.ErrQueueFull].
package iolimit
