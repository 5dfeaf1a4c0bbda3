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

// A reader parses a reply or a value. ok is false after too little was left.
type reader struct {
	s  string
	ok bool
}

func read(s string) reader { return reader{s, true} }

// take returns the next bytes, as many as asked for.
func (r *reader) take(size uint64) string {
	if uint64(len(r.s)) < size {
		r.ok, r.s = false, ""
		return ""
	}
	taken := r.s[:size]
	r.s = r.s[size:]
	return taken
}

func (r *reader) uint(size int) uint64 {
	v := uint64(0)
	for _, c := range []byte(r.take(uint64(size))) {
		v = v<<8 | uint64(c)
	}
	return v
}

// micros reads an instant in microseconds. It fails if the instant has no value in nanoseconds.
func (r *reader) micros() int64 {
	v := r.uint(7)
	r.ok = r.ok && v <= math.MaxInt64/micro
	return int64(v)
}

// varint reads a number that binary.AppendUvarint appended.
func (r *reader) varint() uint64 {
	v, size := binary.Uvarint([]byte(r.s[:min(len(r.s), binary.MaxVarintLen64)]))
	if size <= 0 {
		size = len(r.s) + 1 // more than there is
	}
	r.take(uint64(size))
	return v
}

// numbers are arguments of a script, in the form of struct.unpack('>d...'). They must be exact as
// floats.
func numbers(vs ...int64) string {
	b := make([]byte, 0, 8*len(vs))
	for _, v := range vs {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(float64(v)))
	}
	return string(b)
}

// format returns the format of struct.pack for a number of size bytes. Lua takes long to build it.
func format(size int) string { return ">I" + string(rune('0'+size)) }

// sizeOf returns how many bytes hold the numbers up to most.
func sizeOf(most uint64) int {
	size := 1
	for size < 8 && most>>(8*size) > 0 {
		size++
	}
	return size
}
