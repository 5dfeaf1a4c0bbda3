package sim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"p=fixed-window+1/1s&r=0&b=100ms:2&c=obey", []string{
			"Granted at 100ms.", "Denied at 100ms.",
			"Granted at 1s, after 1 denial, 900ms after the first request. This client obeys Retry-After.",
		}},
		{"p=fixed-window+1/1s&r=0&b=950ms:2&c=hammer&t=10s", []string{
			"Granted at 950ms. This client hammers.", "Denied at 950ms. This client hammers.",
			"Granted at 1s, after 1 denial, 50ms after the first request. This client hammers.",
		}},
		{"p=leaky-bucket+1/1s+capacity%3D1&r=0&b=0s:3&c=wait", []string{
			"Granted at 0s.", "Waits from 0s on. Its turn is 1s later.", "Denied at 0s: the queue is full.",
			"Held back for 1s. It came at 0s and goes ahead at 1s.",
		}},
		{"p=fixed-window+1/1s&r=0&b=0s:3&c=wait&t=1s", []string{
			"Granted at 0s.", "Waits from 0s on, behind those that came before.", "Waits from 0s on, behind those that came before.",
			"Held back for 1s. It came at 0s and goes ahead at 1s.",
		}},
	} {
		r := ran(t, c.query)
		var got []string
		for _, rec := range answers(r, 0) {
			what, lines := Describe(r.scenario.Lanes[0].Policy, &rec)
			got = append(got, what)
			if lines == nil {
				assert.Contains(t, what, "behind")
			}
		}
		assert.Equal(t, c.want, got, c.query)
	}
}

func TestDescribeResult(t *testing.T) {
	r := ran(t, "p=all(10/1s,+sliding-log+3/5s)&r=0&b=1s:4")
	got := answers(r, 0)
	_, lines := Describe(r.scenario.Lanes[0].Policy, &got[3])
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Field + " " + l.Value + "\n")
	}
	assert.Equal(t, "Allowed false\nLimit 3\nRemaining 0\nRetryAfter 5s\nResetAfter 5s\nMoreAfter 5s\nDecidedBy 1\n", b.String())
	assert.Equal(t, "the part sliding-log 3/5s decided", lines[6].Words)
}
