package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/accesslog"
)

// A Config says how to read logs.
type Config struct {
	Format string // one of [accesslog.Formats]; "" to find it out
	Time   string // the field with the time, in JSON and CSV; "" for the usual names
	Key    string // the field with the key; "ip" is the client's address
	Cost   string // the field with the number of events of a request; "" counts each as one
	Where  Where  // which requests count
	Spread bool   // spread the requests of a second over it, of all logs that have whole seconds

	// Bad, if not nil, is called for each line that is not understood. line is the start of one
	// that is too long, and is valid during the call.
	Bad func(file string, number int, line []byte, err error)

	// Progress, if not nil, is called each few thousand requests.
	Progress func(requests int)
}

// A run reads logs once.
type run struct {
	Config
	ctx     context.Context
	several bool // logs, which are merged
	clients clients
	report  Report
	files   []*reader
	closers []io.Closer
}

func (r *run) stopped() bool { return r.ctx.Err() != nil }

func (r *run) costField() []string {
	if r.Cost == "" {
		return nil
	}
	return []string{r.Cost}
}

// Run asks each of the policies for each request of the logs. It does so in the order of time,
// except for requests that come too late in a log: see Late in [Report].
//
// If ctx ends, Run reads no more. It returns the report of what it has read, with Stopped set. An
// error of Run is that of a policy, of c, or of a log. If a log ends with an error of reading, for
// example because its gzip was cut off, Run returns a report with the error. The report has all
// other logs, and that log up to the error.
func Run(ctx context.Context, c Config, policies []weir.Policy, logs []Log) (*Report, error) {
	clock := &logClock{}
	var limiters []*weir.KeyedLimiter
	for _, p := range policies {
		l, err := weir.New(p, weir.WithClock(clock))
		if err != nil {
			return nil, err
		}
		limiters = append(limiters, l)
	}
	r, err := newRun(ctx, c, logs)
	if err != nil {
		return nil, err
	}
	defer r.close()

	tallies := make([]tally, len(policies))
	over := newBars(1 + len(policies))
	err = r.each(func(e event, now int64) error {
		clock.set(now)
		bar := over.at(now)
		over.rows[0][bar]++
		key := r.clients.keys[e.client]
		for i, l := range limiters {
			result, err := l.Take(context.Background(), key, e.cost)
			if err != nil {
				return err
			}
			if !result.Allowed {
				over.rows[1+i][bar]++
			}
			tallies[i].count(e, now, result)
		}
		return nil
	})
	report := r.finish()
	report.Over, report.Width = over.rows[0], over.width
	report.Start = time.Unix(0, over.first*int64(over.width)).UTC()
	for i, p := range policies {
		v := tallies[i].verdict(fmt.Sprint(p), &r.clients)
		v.Over = over.rows[1+i]
		report.Policies = append(report.Policies, v)
	}
	return report, errors.Join(err, r.fault())
}

// newRun opens the logs.
func newRun(ctx context.Context, c Config, logs []Log) (*run, error) {
	r := &run{Config: c, ctx: ctx, several: len(logs) > 1}
	r.clients.numbers = map[string]uint32{}
	if r.Key == "" {
		r.Key = "ip"
	}
	for _, log := range logs {
		opened, err := openLog(ctx, log)
		if err != nil && r.stopped() {
			r.files = append(r.files, &reader{File: File{Name: log.Name}, run: r})
			continue
		}
		if err != nil {
			r.close()
			return nil, err
		}
		source := newSource(ctx, opened)
		r.closers = append(r.closers, source)
		file, err := newReader(log.Name, source, r)
		if err != nil {
			r.close()
			return nil, err
		}
		r.files = append(r.files, file)
	}
	if err := r.checkTime(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// checkTime returns an error if no log has a field for the time.
func (r *run) checkTime() error {
	takes := func(f *reader) bool { return f.Format == "" || accesslog.TakesTime(f.Format) } // "" is that of an empty log
	if r.Time == "" || slices.ContainsFunc(r.files, takes) {
		return nil
	}
	f := r.files[0]
	return fmt.Errorf("%s: the time is %q, which must be a field of JSON or CSV, and not of %s (%w)", f.Name, r.Time, f.Format, accesslog.ErrField)
}

func (r *run) close() {
	for _, c := range r.closers {
		_ = c.Close() // was read only
	}
}

// each calls do with the events of all logs in the order of time. now is the instant of the event,
// or that of the one before, if that was later.
func (r *run) each(do func(e event, now int64) error) error {
	m := &merged{}
	for _, f := range r.files {
		m.from = append(m.from, head{stream: &ordered{from: f}, event: event{at: f.start}})
	}
	var events stream = m
	if r.Spread {
		events = &spread{from: m}
	}
	rep := &r.report
	now := int64(0)
	for {
		e, ok := events.next()
		if !ok {
			return nil
		}
		if e.at < now {
			rep.Late++
		}
		now = max(now, e.at)
		if rep.Requests == 0 {
			rep.From = time.Unix(0, now).UTC()
		}
		rep.To = time.Unix(0, now).UTC()
		rep.Requests++
		r.clients.counts[e.client]++
		if e.whole {
			rep.Whole++
		}
		if err := do(e, now); err != nil {
			return err
		}
		if r.Progress != nil && rep.Requests%4096 == 0 {
			r.Progress(rep.Requests)
		}
	}
}

// finish returns the report without what policies did.
func (r *run) finish() *Report {
	rep := &r.report
	rep.Key, rep.Spread, rep.Stopped = r.Key, r.Spread && rep.Whole > 0, r.stopped()
	for _, n := range r.clients.counts {
		if n > 0 { // else Stopped came before the client's request
			rep.Clients++
		}
	}
	for _, f := range r.files {
		if err := f.fault(); err != nil {
			f.Error = err.Error()
		}
		rep.Files = append(rep.Files, f.File)
	}
	return rep
}

// fault returns what ended logs early.
func (r *run) fault() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.fault())
	}
	return errors.Join(errs...)
}

// A logClock shows the time of the request that is decided.
type logClock struct{ now time.Time }

func (c *logClock) set(now int64)                        { c.now = time.Unix(0, now) }
func (c *logClock) Now() time.Time                       { return c.now }
func (c *logClock) After(time.Duration) <-chan time.Time { return nil } // nobody waits
