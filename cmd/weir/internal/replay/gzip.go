package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

var gzipMagic = []byte{0x1f, 0x8b}

// unzipped reads a gzip, of one member or several. As the command gzip does, it ignores what comes
// after the last one: a device or a backup fills a file up with zeros.
type unzipped struct {
	gzip    *gzip.Reader
	from    *bufio.Reader
	ignored int64 // bytes after the end that are not zero, and those after them
	err     error
}

func newUnzipped(from *bufio.Reader) (*unzipped, error) {
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	z.Multistream(false) // it would take what comes after the end for a member
	return &unzipped{gzip: z, from: from}, nil
}

func (z *unzipped) Read(b []byte) (int, error) {
	for z.err == nil {
		n, err := z.gzip.Read(b)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		z.err = z.nextMember()
		if n > 0 {
			return n, nil
		}
	}
	return 0, z.err
}

// nextMember goes to the next member. At the end it returns io.EOF.
func (z *unzipped) nextMember() error {
	skipNULs(z.from)
	first, err := z.from.Peek(len(gzipMagic))
	switch {
	case len(first) == 0:
		return err
	case bytes.Equal(first, gzipMagic):
		err := z.gzip.Reset(z.from)
		z.gzip.Multistream(false)
		return err
	case first[0] == gzipMagic[0] && errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF // a member that is cut off
	}
	if z.ignored, err = io.Copy(io.Discard, z.from); err != nil {
		return err
	}
	return io.EOF
}
