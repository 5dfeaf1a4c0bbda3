package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// mail is the work of the queues: one mail to a domain, which allows us so many.
type mail struct {
	Domain string `json:"domain"`
}

// Kind implements [river.JobArgs].
func (mail) Kind() string { return "mail" }

// send sends a mail, except to a domain that refuses all.
func send(_ context.Context, m mail) error {
	if m.Domain == "refuses.example" {
		return errors.New("refused")
	}
	return nil
}

type riverWorker struct {
	river.WorkerDefaults[mail]
	limiter weir.Limiter
}

// Work puts a job of River back until the limit allows it. A snoozed job does not fail, and keeps
// its attempts.
func (w *riverWorker) Work(ctx context.Context, job *river.Job[mail]) error {
	r, err := w.limiter.Take(ctx, job.Args.Domain, 1)
	if err != nil {
		return err // the store failed: River tries again
	}
	if !r.Allowed {
		return river.JobSnooze(r.RetryAfter)
	}
	return send(ctx, job.Args)
}

func TestRiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &riverWorker{limiter: newLimiter()}
		job := &river.Job[mail]{Args: mail{"mail.example"}}
		require.NoError(t, w.Work(t.Context(), job))
		var snooze *rivertype.JobSnoozeError
		require.ErrorAs(t, w.Work(t.Context(), job), &snooze)
		assert.Equal(t, time.Minute, snooze.Duration)
		time.Sleep(snooze.Duration)
		assert.NoError(t, w.Work(t.Context(), job))

		w.limiter = failing{}
		assert.Equal(t, errStore, w.Work(t.Context(), job))
	})
}

// newLimiter lets one mail a minute go to each domain.
func newLimiter() *weir.KeyedLimiter {
	return weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Minute}))
}

var errStore = errors.New("the store is away")

// failing is a limiter whose store is away.
type failing struct{ weir.Limiter }

func (failing) Take(context.Context, string, int) (weir.Result, error) {
	return weir.Result{}, errStore
}

// limited is the error of a task that must wait for this long.
type limited time.Duration

func (limited) Error() string { return "limited" }

// sendTask is a handler of asynq. asynqConfig puts its tasks back until the limit allows them.
func sendTask(limiter weir.Limiter) asynq.HandlerFunc {
	return func(ctx context.Context, task *asynq.Task) error {
		m := mail{Domain: string(task.Payload())}
		r, err := limiter.Take(ctx, m.Domain, 1)
		if err != nil {
			return err // the store failed: asynq tries again
		}
		if !r.Allowed {
			return limited(r.RetryAfter)
		}
		return send(ctx, m)
	}
}

// asynqConfig tells asynq that a task over the limit has not failed, and when to try it again.
func asynqConfig() asynq.Config {
	return asynq.Config{
		IsFailure: func(err error) bool { return !errors.As(err, new(limited)) },
		RetryDelayFunc: func(n int, err error, task *asynq.Task) time.Duration {
			if wait := limited(0); errors.As(err, &wait) {
				return time.Duration(wait)
			}
			return asynq.DefaultRetryDelayFunc(n, err, task)
		},
	}
}

func TestAsynq(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task, config := asynq.NewTask("mail", []byte("mail.example")), asynqConfig()
		work := sendTask(newLimiter())
		require.NoError(t, work(t.Context(), task))
		err := work(t.Context(), task)
		require.Error(t, err)
		assert.False(t, config.IsFailure(err))
		again := config.RetryDelayFunc(1, err, task)
		assert.Equal(t, time.Minute, again)
		time.Sleep(again)
		assert.NoError(t, work(t.Context(), task))

		err = sendTask(failing{})(t.Context(), task)
		assert.True(t, config.IsFailure(err))
		assert.Greater(t, config.RetryDelayFunc(1, err, task), time.Second)
	})
}

// handleMsg handles a message of NATS JetStream. The server delivers it again when the limit allows
// it.
func handleMsg(ctx context.Context, limiter weir.Limiter, msg jetstream.Msg) error {
	r, err := limiter.Take(ctx, msg.Subject(), 1)
	switch {
	case err != nil:
		return msg.NakWithDelay(time.Second) // the store failed
	case !r.Allowed:
		return msg.NakWithDelay(r.RetryAfter)
	}
	if err := send(ctx, mail{Domain: msg.Subject()}); err != nil {
		return msg.NakWithDelay(time.Minute) // at once, it would use up the subject's limit
	}
	return msg.Ack()
}

// delivery is a message of JetStream, and what became of it.
type delivery struct {
	jetstream.Msg
	domain string
	acked  bool
	delay  time.Duration
}

func (d *delivery) Subject() string                       { return d.domain }
func (d *delivery) Ack() error                            { d.acked = true; return nil }
func (d *delivery) NakWithDelay(wait time.Duration) error { d.delay = wait; return nil }

func TestNATS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, first, second := newLimiter(), &delivery{domain: "mail.example"}, &delivery{domain: "mail.example"}
		require.NoError(t, handleMsg(t.Context(), l, first))
		assert.True(t, first.acked)
		require.NoError(t, handleMsg(t.Context(), l, second))
		assert.False(t, second.acked)
		assert.Equal(t, time.Minute, second.delay)
		time.Sleep(second.delay)
		require.NoError(t, handleMsg(t.Context(), l, second))
		assert.True(t, second.acked)

		third := &delivery{domain: "mail.example"}
		require.NoError(t, handleMsg(t.Context(), failing{}, third))
		assert.Equal(t, time.Second, third.delay)

		fourth := &delivery{domain: "refuses.example"}
		require.NoError(t, handleMsg(t.Context(), l, fourth))
		assert.False(t, fourth.acked)
		assert.Equal(t, time.Minute, fourth.delay, "not at once: each delivery takes an event")
	})
}

// consume handles the messages of a Kafka topic in their order, no faster than the limit allows.
// The reader stays in its group meanwhile.
func consume(ctx context.Context, limiter weir.Limiter, reader kafkaReader) error {
	for {
		msg, err := reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := limiter.Wait(ctx, string(msg.Key), 1); err != nil {
			return err // not committed: the message comes again
		}
		if err := send(ctx, mail{Domain: string(msg.Key)}); err != nil {
			return err
		}
		if err := reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

// kafkaReader is the part of a *kafka.Reader that consume uses.
type kafkaReader interface {
	FetchMessage(context.Context) (kafka.Message, error)
	CommitMessages(context.Context, ...kafka.Message) error
}

var _ kafkaReader = (*kafka.Reader)(nil)

// topic is a reader of a topic with three messages. It notes when each was committed.
type topic struct {
	begin     time.Time
	fetched   int
	committed []time.Duration
}

var errEnd = errors.New("no more messages")

func (k *topic) FetchMessage(context.Context) (kafka.Message, error) {
	if k.fetched++; k.fetched > 3 {
		return kafka.Message{}, errEnd
	}
	return kafka.Message{Key: []byte("mail.example")}, nil
}

func (k *topic) CommitMessages(context.Context, ...kafka.Message) error {
	k.committed = append(k.committed, time.Since(k.begin))
	return nil
}

func TestKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &topic{begin: time.Now()}
		assert.Equal(t, errEnd, consume(t.Context(), newLimiter(), k))
		assert.Equal(t, []time.Duration{0, time.Minute, 2 * time.Minute}, k.committed)

		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		k = &topic{begin: time.Now()}
		assert.ErrorIs(t, consume(ctx, newLimiter(), k), weir.ErrTooLate)
		assert.Len(t, k.committed, 2)
	})
}
