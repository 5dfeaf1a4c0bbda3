package script

import (
	"encoding/binary"
	"math"
)

// appendUint appends the low size bytes of v, the highest first, as struct.pack('>I'..size) does.
func appendUint(b []byte, v uint64, size int) []byte {
	for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
		b = append(b, byte(v>>shift))
	}
	return b
}

// A reader takes a reply or a value apart. ok is false once there was too little left.
type reader struct {
	s  string
	ok bool
}

func read(s string) reader { return reader{s, true} }

func (r *reader) uint(size int) uint64 {
	if len(r.s) < size {
		r.ok, r.s = false, ""
		return 0
	}
	v := uint64(0)
	for _, c := range []byte(r.s[:size]) {
		v = v<<8 | uint64(c)
	}
	r.s = r.s[size:]
	return v
}

// skip takes so many bytes.
func (r *reader) skip(size uint64) {
	if uint64(len(r.s)) < size {
		r.ok, r.s = false, ""
		return
	}
	r.s = r.s[size:]
}

// varint takes a number that binary.AppendUvarint appended.
func (r *reader) varint() uint64 {
	n := min(len(r.s), binary.MaxVarintLen64)
	v, size := binary.Uvarint([]byte(r.s[:n]))
	if size <= 0 {
		r.ok, r.s = false, ""
		return 0
	}
	r.s = r.s[size:]
	return v
}

// numbers are arguments of a script, as struct.unpack('>d...') takes them. They must be exact as floats.
func numbers(vs ...int64) string {
	b := make([]byte, 0, 8*len(vs))
	for _, v := range vs {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(float64(v)))
	}
	return string(b)
}

// format is that of struct.pack for a number of size bytes. Lua takes long to make it.
func format(size int) string { return ">I" + string(rune('0'+size)) }

// sizeOf is how many bytes hold the numbers up to most.
func sizeOf(most uint64) int {
	size := 1
	for size < 8 && most>>(8*size) > 0 {
		size++
	}
	return size
}
