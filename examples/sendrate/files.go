package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// files are what a run reads and writes. All are opened before the first line goes, so that a wrong
// name is reported at once, and not when there is something to save.
type files struct {
	inputs []*input  // one for each policy
	out    io.Writer // gets the lines sent
	left   io.Writer // gets those that are not
	plot   *os.File  // nil if there is none

	read, written []*os.File
	toClose       []io.Closer
}

// open opens what the options name.
func (o *options) open(stdin io.Reader, stdout io.Writer) (*files, error) {
	f := &files{out: io.Discard, left: io.Discard}
	err := errors.Join(f.openInputs(o, stdin), f.openOutputs(o, stdout))
	if err == nil {
		err = f.distinct()
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// close closes the open files. It returns the error of a file whose last lines may be lost.
func (f *files) close() error {
	for _, in := range f.inputs {
		in.close()
	}
	var errs []error
	for _, c := range f.toClose {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (f *files) openInputs(o *options, stdin io.Reader) error {
	for range o.policies {
		r := stdin
		switch {
		case o.lines > 0:
			r = generate(o.lines)
		case o.input != "":
			file, err := os.Open(o.input)
			if err != nil {
				return err
			}
			f.toClose = append(f.toClose, file)
			r = file
		}
		file, _ := r.(*os.File)
		f.read = append(f.read, file)
		f.inputs = append(f.inputs, newInput(r, o.lines > 0 || isRegular(file)))
	}
	return nil
}

func (f *files) openOutputs(o *options, stdout io.Writer) error {
	var errs []error
	open := func(name string, flags int) *os.File {
		file, err := os.OpenFile(name, flags|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		f.toClose, f.written = append(f.toClose, file), append(f.written, file)
		return file
	}
	switch o.out {
	case "":
	case "-":
		f.out = stdout
		if file, ok := stdout.(*os.File); ok {
			f.written = append(f.written, file)
		}
	default:
		f.out = open(o.out, os.O_APPEND)
	}
	if o.left != "" {
		f.left = open(o.left, os.O_APPEND)
	}
	if o.plot != "" {
		f.plot = open(o.plot, 0) // its old content stays until there is a new one
	}
	return errors.Join(errs...)
}

// distinct checks that no file that the run writes is also another file of the run. Otherwise the
// run would read again what it sent, or what it drew would end up between the lines.
func (f *files) distinct() error {
	for i, w := range f.written {
		for _, other := range append(f.read, f.written[:i]...) {
			if isRegular(other) && same(w, other) {
				return fmt.Errorf("%s and %s are one file, must be two", other.Name(), w.Name())
			}
		}
	}
	return nil
}

func isRegular(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

func same(a, b *os.File) bool {
	ai, aerr := a.Stat()
	bi, berr := b.Stat()
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}
