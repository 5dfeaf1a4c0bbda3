package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read as one.
const maxLine = 64 << 10

var errLong = fmt.Errorf("longer than %d bytes", maxLine)

// lines reads the lines of a log, which may be compressed by gzip.
type lines struct {
	r *bufio.Reader
	z *unzipped // nil if the log is not compressed
	n int       // of the line that was read last, from 1
}

func newLines(r io.Reader) (*lines, error) {
	l := &lines{}
	b := bufio.NewReaderSize(r, maxLine)
	if magic, _ := b.Peek(len(gzipMagic)); bytes.Equal(magic, gzipMagic) {
		z, err := newUnzipped(b)
		if err != nil {
			return nil, err
		}
		l.z, b = z, bufio.NewReaderSize(z, maxLine)
	}
	for _, o := range others {
		if start, _ := b.Peek(o.at + len(o.mark)); o.marks(start) {
			return nil, fmt.Errorf("it is %s, must be text in UTF-8, or such text compressed by gzip", o.is)
		}
	}
	if mark, _ := b.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = b.Discard(len(mark)) // is in the buffer
	}
	l.r = b
	l.skipEmpty()
	return l, nil
}

// other is what marks a file that is not read, the byte where the mark is, and what the file is.
type other struct {
	at       int
	mark, is string
}

func (o other) marks(file []byte) bool {
	return bytes.HasPrefix(file[min(o.at, len(file)):], []byte(o.mark))
}

var others = []other{
	{0, "\xfd7zXZ\x00", "compressed by xz"},
	{0, "\x28\xb5\x2f\xfd", "compressed by zstd"},
	{0, "BZh91AY&SY", "compressed by bzip2"},
	{0, "PK\x03\x04", "a zip"},
	{257, "ustar\x00", "a tar"},       // in which a file begins in the line before its first one
	{257, "ustar  \x00", "a tar"},     // of GNU
	{0, "\xff\xfe", "text in UTF-16"}, // of Windows programs
	{0, "\xfe\xff", "text in UTF-16"},
}

// byteOrderMark stands before the text in files of Windows programs.
const byteOrderMark = "\ufeff"

// nul stands before the first line of a log that was truncated while the server wrote to it.
const nul = "\x00"

// skipEmpty goes to the first line that is not empty.
func (l *lines) skipEmpty() {
	for {
		skipNULs(l.r)
		buffered, _ := l.r.Peek(maxLine)
		ends := len(buffered) - len(bytes.TrimLeft(buffered, "\r\n"))
		n := bytes.LastIndexByte(buffered[:ends], '\n') + 1
		if n == 0 {
			return
		}
		l.n += bytes.Count(buffered[:n], []byte("\n"))
		_, _ = l.r.Discard(n) // is in the buffer
	}
}

// skipNULs goes to the first byte that is not NUL. There may be more of them than a line may have.
func skipNULs(r *bufio.Reader) {
	for first, _ := r.Peek(1); len(first) > 0 && first[0] == 0; first, _ = r.Peek(1) {
		buffered, _ := r.Peek(r.Buffered())
		_, _ = r.Discard(len(buffered) - len(bytes.TrimLeft(buffered, nul)))
	}
}

// next returns the next line that is not empty, without its end and the NULs before it. The line is
// valid until the next call. errLong is for one line: its start is returned, and the next call goes
// on after it. Other errors are io.EOF and those of reading, after which there are no more lines.
func (l *lines) next() ([]byte, error) {
	for {
		l.n++
		skipNULs(l.r)
		line, err := l.r.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, io.EOF) && len(line) > 0:
		case errors.Is(err, bufio.ErrBufferFull):
			start := bytes.Clone(line[:256])
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = l.r.ReadSlice('\n')
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, l.broken(err)
			}
			return start, errLong
		case errors.Is(err, io.EOF):
			l.n--
			return nil, io.EOF
		default:
			return nil, l.broken(err)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			return line, nil
		}
	}
}

// broken is the error of reading in the middle of a line.
func (l *lines) broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the file is cut off: %w", err)
	}
	if l.n--; l.n == 0 { // such as of a directory
		return err
	}
	return fmt.Errorf("after line %d: %w", l.n, err)
}

// head returns the lines that lie in the buffer, at most n of them. They are read again by next.
// The error is errLong if not even the first line fits. head does not return errors of reading:
// next returns them.
func (l *lines) head(n int) ([][]byte, error) {
	buffered, err := l.r.Peek(maxLine)
	if !errors.Is(err, io.EOF) { // the last line may go on after the buffer
		buffered = buffered[:bytes.LastIndexByte(buffered, '\n')+1]
	}
	if err == nil && len(buffered) == 0 {
		return nil, errLong
	}
	var head [][]byte
	for line := range bytes.Lines(buffered) {
		if line = bytes.TrimLeft(bytes.TrimRight(line, "\r\n"), nul); len(line) > 0 {
			head = append(head, bytes.Clone(line)) // each alone: a parser keeps the last one
		}
		if len(head) == n {
			break
		}
	}
	return head, nil
}
