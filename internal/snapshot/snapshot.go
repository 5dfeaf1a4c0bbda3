// Package snapshot writes and reads the file that weir's MemStore saves: its bytes, their order and
// their checksum. It knows no policy and no table: policies are texts, and states are words.
//
// A file is, with all numbers little-endian:
//
//	8 bytes   magic
//	4 bytes   version
//	48 bytes  the seeds of the hashes
//	1 byte    how many first bits are equal in the hashes of keys that share an entry
//	records   policies and keys, a policy before its keys
//	1 byte    the kind end
//	8 bytes   the number of keys
//	32 bytes  SHA-256 of all that precedes
//
// A policy is its kind, 4 bytes with the length of its text, and the text. If its clock is not the
// system's, 8 bytes with a reading of its clock come before the length. Policies have numbers, from
// 1 on. A key is its kind, 16 bytes of hash, 4 bytes with the number of its policy or 0 for a
// ledger, 4 bytes with the number of its words, and the words.
package snapshot

import (
	"errors"

	"github.com/weir-go/weir/internal/keyhash"
)

const (
	magic = "weirkeys"

	// version is the version of the whole format. It must be raised when the meaning of a policy's
	// words, of a ledger's words, or of the hash of a key changes.
	version = 1
)

// The kinds of records.
const (
	kindPolicy    = 'p' // whose clock is the system's
	kindOwnPolicy = 'o' // whose clock is the limiter's own
	kindKey       = 'k'
	kindEnd       = 'e'
)

const (
	maxText   = 4096 // bytes: no policy has a longer text
	maxDepth  = 20   // for 100,000 processors
	sizeWord  = 8
	sizeCount = 4
	bufferLen = 32 << 10
)

// A Header is what comes first in a file.
type Header struct {
	Seeds keyhash.Seeds
	Depth uint // see table.Table.OverflowDepth
}

// A Policy is a policy, and what is known of its clock.
type Policy struct {
	Text     string
	OwnClock bool
	Now      int64 // what its own clock read
}

// A Key is a key and its state.
type Key struct {
	A, B   uint64   // see table.Hash.Saved
	Policy uint32   // its number, or 0 for a ledger
	Words  []uint64 // fewer than 2^32
}

// The errors of a [Reader] wrap these, or are of its [io.Reader].
var (
	ErrForeign = errors.New("it is no file of a MemStore")
	ErrVersion = errors.New("it is of another version")
	ErrDamaged = errors.New("it is damaged or incomplete")
)
