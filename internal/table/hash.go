package table

const (
	tagBits     = 20
	tagMask     = 1<<tagBits - 1
	overflowBit = 1 << tagBits // in Hash.b: stands for all keys that have no entry
	markMask    = overflowBit | tagMask
)

// A Hash identifies a key, and the Writer that asks for it. It must be made with secret seeds. An
// attacker then cannot make two keys that share it. By chance, two of a billion keys share one with
// a probability of about 10^-14.
type Hash struct {
	a uint64 // never zero
	b uint64 // the low bits hold a tag and the overflowBit
}

// NewHash makes a Hash of two hashes of a key that do not depend on each other, and of the tag of
// the [Writer] that asks.
func NewHash(a, b, tag uint64) Hash { return Hash{a: a | 1, b: b&^markMask | tag} }

// SavedHash returns the Hash whose words [Hash.Saved] has returned. It reports false if no Hash has
// these words.
func SavedHash(a, b uint64) (h Hash, ok bool) { return Hash{a, b}, a&1 == 1 && b&tagMask == 0 }

// Saved returns the words from which [SavedHash] makes the same Hash, also in another process. They
// do not include the tag, which means nothing there.
func (h Hash) Saved() (a, b uint64) { return h.a, h.b &^ tagMask }

// IsOverflow reports whether h is of an entry that stands for all keys without one.
func (h Hash) IsOverflow() bool { return h.b&overflowBit != 0 }

// by is h with another tag.
func (h Hash) by(tag uint64) Hash { return Hash{h.a, h.b&^tagMask | tag} }

// Overflow identifies the entry that stands for keys without one. Keys share that entry if their
// hashes have the same first bits as h, and if they have the same shared. shared is the Hash of no
// key.
func (t *Table) Overflow(h, shared Hash) Hash {
	low := ^uint64(0) >> t.overflowDepth
	return Hash{a: h.a&^low | shared.a&low | 1, b: shared.b | overflowBit}
}
