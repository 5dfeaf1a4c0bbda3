package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A Reader reads a file. It takes little more memory than the longest state that the file really
// has, even if the file claims to have longer ones.
//
// Until [Reader.Next] has returned [io.EOF], the file may be damaged, and so may everything that
// was read from it. The caller must check the numbers of policies, the texts and the words.
type Reader struct {
	in   *bufio.Reader
	sum  hash.Hash // of what was read
	keys uint64
	key  Key // the latest
}

// NewReader returns a Reader that has read the header.
func NewReader(r io.Reader) (*Reader, Header, error) {
	in := &Reader{in: bufio.NewReaderSize(r, bufferLen), sum: sha256.New()}
	var h Header
	start, err := in.next(len(magic))
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, h, err
	}
	if string(start) != magic {
		return nil, h, ErrForeign
	}
	if b, err := in.next(4); err != nil {
		return nil, h, err
	} else if v := binary.LittleEndian.Uint32(b); v != version {
		return nil, h, fmt.Errorf("%w: %d, must be %d", ErrVersion, v, version)
	}
	for i := range h.Seeds {
		if h.Seeds[i], err = in.word(); err != nil {
			return nil, h, err
		}
	}
	depth, err := in.byte()
	if err == nil && depth > maxDepth {
		err = fmt.Errorf("%w: %d bits of a hash", ErrDamaged, depth)
	}
	h.Depth = uint(depth)
	return in, h, err
}

// Next returns the next record, a [Policy] or a *[Key], which is valid until the next call. At the
// end of a file that is undamaged, Next returns [io.EOF].
func (r *Reader) Next() (record any, err error) {
	kind, err := r.byte()
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindPolicy, kindOwnPolicy:
		return r.policy(kind == kindOwnPolicy)
	case kindKey:
		r.keys++
		return &r.key, r.readKey()
	case kindEnd:
		return nil, r.end()
	}
	return nil, fmt.Errorf("%w: a record of the kind %q", ErrDamaged, kind)
}

func (r *Reader) policy(ownClock bool) (p Policy, err error) {
	if ownClock {
		now, err := r.word()
		if err != nil {
			return p, err
		}
		p.OwnClock, p.Now = true, int64(now)
	}
	b, err := r.next(sizeCount)
	if err != nil {
		return p, err
	}
	n := binary.LittleEndian.Uint32(b)
	if p.Now < 0 || n > maxText {
		return p, fmt.Errorf("%w: a policy of %d bytes, at the instant %d", ErrDamaged, n, p.Now)
	}
	b, err = r.next(int(n))
	p.Text = string(b)
	return p, err
}

func (r *Reader) readKey() error {
	b, err := r.next(2*sizeWord + 2*sizeCount)
	if err != nil {
		return err
	}
	k := &r.key
	k.A, k.B = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[sizeWord:])
	k.Policy = binary.LittleEndian.Uint32(b[2*sizeWord:])
	k.Words = k.Words[:0]
	for range binary.LittleEndian.Uint32(b[2*sizeWord+sizeCount:]) { // nothing is made before the words are there
		w, err := r.word()
		if err != nil {
			return err
		}
		k.Words = append(k.Words, w)
	}
	return nil
}

func (r *Reader) end() error {
	keys, err := r.word()
	if err != nil {
		return err
	}
	want := r.sum.Sum(nil)
	sum, err := r.next(sha256.Size)
	switch {
	case err != nil:
		return err
	case string(sum) != string(want):
		return fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	case keys != r.keys:
		return fmt.Errorf("%w: it has %d keys, and says %d", ErrDamaged, r.keys, keys)
	}
	// Only [io.EOF] itself is the end. A reader that decompresses fails with another error here if
	// its file is incomplete.
	if _, err := r.in.ReadByte(); err != nil {
		return err
	}
	return fmt.Errorf("%w: it goes on after its end", ErrDamaged)
}

func (r *Reader) word() (uint64, error) {
	b, err := r.next(sizeWord)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (r *Reader) byte() (byte, error) {
	b, err := r.next(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// next returns the next n bytes, which are valid until the next call. n must be at most bufferLen.
// It returns [io.ErrUnexpectedEOF] where there are fewer.
func (r *Reader) next(n int) ([]byte, error) {
	b, err := r.in.Peek(n)
	switch err {
	case nil:
	case io.EOF, io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, io.ErrUnexpectedEOF)
	default:
		return nil, err
	}
	r.sum.Write(b)
	_, err = r.in.Discard(n)
	return b, err
}
