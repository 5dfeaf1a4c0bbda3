// Package iolimit limits the bytes a second of readers, writers and network connections. An event
// of the limiter is a byte here:
//
//	download := weir.Must(weir.New(weir.TokenBucket{Limit: 1 << 20, Per: time.Second}))
//	w := iolimit.NewWriter(ctx, response, iolimit.Limit{Limiter: download, Key: user})
//	_, err := io.Copy(w, file)
//
// [NewReader], [NewWriter] and [NewConn] take any number of limits. Many readers, writers and
// connections can share a limit: give them the same limiter and the same key. They then take turns,
// first come, first served. In each turn, one chunk passes, as explained below.
//
// # Chunks
//
// Buffers can be of any size, also larger than the limiter ever grants at once. Data moves in
// chunks. The size of a chunk is about an eighth of what the limiter grants at once, which is the
// Burst of a [weir.TokenBucket], the Capacity of a [weir.LeakyBucket], or the Limit of a window.
// With [weir.Tiers], only the tiers that grant at least 512 bytes at once matter. The size is about
// an eighth of what the smallest of them grants at once. Each chunk comes from a single tier, and
// all of these tiers are large enough for a chunk. Of Tiers within [weir.All] or within other
// Tiers, only the largest tier matters. A smaller tier may lack room for a chunk, and is then not
// used. To avoid that, do not put Tiers into an All: list them as a limit of their own. With
// several limits, a chunk has the smallest of their sizes. A chunk has at most 16 KiB. It has at
// least 512 bytes, or all that the limiter grants at once if that is less. A chunk is smaller than
// its size only if fewer bytes are left in the buffer, or if the underlying reader returns fewer.
// While the limiter does not report how much it grants at once, a chunk has 512 bytes: a
// [weir.Shadow] whose store fails does not report it, for example.
//
// A smaller Burst makes the flow smoother, and a larger Burst needs fewer calls of the limiter.
// After a change of the policy, the size of the chunks changes within 64 chunks.
//
// # Several limits
//
// A chunk waits for its limits one after the other, in their order. List the limit of one
// connection before the limit that all connections share. A chunk that waits for the limit of its
// own connection then holds back no other connection.
//
//   - The last limit is exact. In no span of time does more pass than its policy allows. There are
//     two exceptions. First, several writers share the limit, and an underlying Write takes a while
//     and then fails. The bytes that it has not written are given back, and other writers can use
//     them at once. A span of time that began during that Write can have that many bytes more than
//     the policy allows. Second, the policy changes. A span of time that includes the change can
//     have what the old policy and the new one allow together.
//   - Each earlier limit counts a chunk when it grants it, and the chunk may pass later. In a span
//     of time, each reader or writer can pass one chunk more than the policy of such a limit
//     allows.
//   - If a later limit fails, a reader keeps for its next call what the earlier limits have
//     granted. A writer gives it back to those whose Limiter has a Return method.
//
// # Policies
//
// [weir.TokenBucket] fits best. A window fits, too: all its bytes can pass at its start, and less
// than a chunk may be unused at its end. With a [weir.LeakyBucket], all bytes that wait must fit
// into its Capacity. Otherwise calls fail with [weir.ErrQueueFull].
package iolimit
