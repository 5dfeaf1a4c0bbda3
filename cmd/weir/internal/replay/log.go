package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/weir-go/weir/cmd/weir/internal/accesslog"
)

// A Log is a log to read, or a part of one: logs are merged by time.
type Log struct {
	Name string

	// Open may be called again after Close. The bytes may be gzip. What can seek is taken for a
	// file: reads of it do not block, and its start is read twice.
	Open func() (io.ReadCloser, error)
}

// A File says what was found in a log.
type File struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Lines  int    `json:"lines"` // that are not empty
	Bad    int    `json:"bad"`   // of them, those that were not understood

	FirstBad string `json:"first_bad,omitempty"` // the first of them, and what is wrong with it
	Error    string `json:"error,omitempty"`     // that ended the log early
	Ignored  int64  `json:"ignored,omitempty"`   // bytes after the end of a gzip; zeros do not count
}

// headLines is how many lines are looked at to find the format of a log.
const headLines = 100

// reader is the stream of the events of a log, in the order of its lines.
type reader struct {
	File
	run    *run
	source *source
	lines  *lines // nil before the first line is read of a file, and after the last
	past   int    // lines of a file before the first that next returns
	parser accesslog.Parser
	start  int64 // no request of a file is earlier, of the lines that are sorted
	whole  bool  // whether the first lines have whole seconds
	err    error // of reading the log
}

// newReader reads the head of a log. Its error says that the log cannot be read at all. A file is
// then read again from its start, when its turn has come: of many files, only those take memory
// that are read at the time.
func newReader(name string, source *source, run *run) (*reader, error) {
	f := &reader{File: File{Name: name}, run: run, source: source, whole: true}
	l, err := newLines(source)
	switch {
	case err != nil && run.stopped():
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.lines = l
	head, err := l.head(headLines)
	for ; err != nil; head, err = l.head(headLines) { // not even the first line fits
		line, err := l.next()
		if !errors.Is(err, errLong) {
			break
		}
		f.Lines++
		f.bad(line, err)
		f.past++
		l.skipEmpty()
	}
	skip := 0
	if run.Format == "" {
		f.parser, skip, err = accesslog.Guess(head, accesslog.Options{Time: run.Time})
	} else {
		f.parser, skip, err = accesslog.New(run.Format, head, accesslog.Options{Time: run.Time})
	}
	switch {
	case len(head) == 0: // nothing, or an error
		_, err := l.next()
		f.end(err)
		return f, nil
	case err != nil && run.stopped(): // before there were more lines
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w; its first line is %.200q", name, err, head[0])
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.Format = f.parser.Format()
	for _, line := range head[skip:] {
		if stamp, err := f.parser.Parse(line); err == nil {
			f.whole = f.whole && stamp.Whole
		}
	}
	f.past += skip
	if run.several && source.pipe == nil {
		f.start = f.earliest()
	}
	if source.rewind() {
		f.lines = nil
		return f, nil
	}
	for range skip {
		_, f.err = l.next()
	}
	return f, nil
}

// earliest reads the lines that are sorted first, and returns the earliest time in them. It returns
// 0 if they have none: nothing is then known of the lines behind them.
func (f *reader) earliest() int64 {
	earliest := int64(math.MaxInt64)
	for range orderWindow {
		line, err := f.lines.next()
		if err != nil && !errors.Is(err, errLong) {
			break // next meets it again
		}
		if stamp, err := f.parser.Parse(bytes.Clone(line)); err == nil { // a parser keeps the last one
			earliest = min(earliest, stamp.Nanos)
		}
	}
	if earliest == math.MaxInt64 {
		return 0
	}
	return earliest
}

// check returns an error for a field of the run that no line can have.
func (f *reader) check() error {
	for _, field := range append([]string{f.run.Key}, f.run.costField()...) {
		if err := f.parser.Check(field); err != nil {
			return err
		}
	}
	return f.run.Where.check(f.parser)
}

// begin reads a file again, up to the first line that counts.
func (f *reader) begin() error {
	l, err := newLines(f.source)
	if err != nil {
		return err
	}
	f.lines = l
	for range f.past {
		if _, err = l.next(); err != nil && !errors.Is(err, errLong) {
			return err
		}
	}
	return nil
}

// next implements stream. Lines that are not understood, or not selected, are counted and left out.
func (f *reader) next() (event, bool) {
	if f.parser != nil && f.err == nil && f.lines == nil {
		f.end(f.begin())
	}
	for f.parser != nil && f.err == nil {
		line, err := f.lines.next()
		switch {
		case err == nil:
			f.Lines++
			e, selected, err := f.event(line)
			if err != nil {
				f.bad(line, err)
			} else if selected {
				return e, true
			}
		case errors.Is(err, errLong):
			f.Lines++
			f.bad(line, err)
		default:
			f.end(err)
		}
	}
	return event{}, false
}

// end gives back the memory of a log that ends with err.
func (f *reader) end(err error) {
	switch {
	case err == nil:
		return
	case f.run.stopped():
		err = io.EOF
	}
	if f.lines != nil && f.lines.z != nil {
		f.Ignored = f.lines.z.ignored
	}
	f.err, f.lines, f.parser = err, nil, nil // the parser's fields lie in the lines
}

// fault returns the error that ended the log early, or nil.
func (f *reader) fault() error {
	if f.err == nil || errors.Is(f.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("%s: %w", f.Name, f.err)
}

func (f *reader) bad(line []byte, err error) {
	if f.Bad++; f.Bad == 1 {
		f.FirstBad = fmt.Sprintf("line %d: %v", f.lines.n, err)
	}
	if f.run.Bad != nil {
		f.run.Bad(f.Name, f.lines.n, line, err)
	}
}

// event reads a line. It reports whether the line is selected by Where.
func (f *reader) event(line []byte) (e event, selected bool, err error) {
	stamp, err := f.parser.Parse(line)
	if err != nil {
		return event{}, false, err
	}
	if !f.run.Where.holds(f.parser) {
		f.run.report.Unselected++
		return event{}, false, nil
	}
	e = event{at: stamp.Nanos, whole: stamp.Whole && f.whole, cost: 1}
	key := f.parser.Field(f.run.Key)
	if key == nil {
		return event{}, false, fmt.Errorf("no field %s for the key: weir replay -key names another", f.run.Key)
	}
	if f.run.Key == "ip" {
		key = address(key)
	}
	if f.run.Cost != "" {
		field := f.parser.Field(f.run.Cost)
		if e.cost, err = cost(field); err != nil {
			return event{}, false, fmt.Errorf("field %s for the cost: %w", f.run.Cost, err)
		}
		if len(field) == 0 {
			f.run.report.Costless++
		}
	}
	if len(f.run.clients.keys) > math.MaxInt32 {
		return event{}, false, errors.New("more than 2,147,483,647 clients")
	}
	e.client = f.run.clients.number(key)
	return e, true, nil
}

// cost reads a number of events. A fraction counts as a whole. In a log, none is 0.
func cost(field []byte) (int, error) {
	if len(field) == 0 {
		return 0, nil
	}
	if n, err := strconv.Atoi(string(field)); err == nil && n >= 0 {
		return n, nil
	}
	x, err := strconv.ParseFloat(string(field), 64)
	if err != nil || !(x >= 0 && x <= math.MaxInt/2) {
		return 0, fmt.Errorf("is %.80q, must be a number of at least 0", field)
	}
	return int(math.Ceil(x)), nil
}
