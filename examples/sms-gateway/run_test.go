package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

func output(t *testing.T, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// A whole month. Each line of the usage's example stands in it, and two runs print the same.
func TestAMonth(t *testing.T) {
	code, out, stderr := output(t)
	assert.Zero(t, code, stderr)
	for _, line := range []string{
		"Thu  1 Oct   240000   17285    16.5    2.5    5.0    0.0    0.0",
		"Sat 10 Oct        0   17160     0.0    0.0    0.0   24.0    0.0",
		"sent 4800000 of 5000000 messages of the mailing, and 534843 codes; a code waited 0s at most",
		"and refused 0",
	} {
		assert.Contains(t, out, line)
	}
	if runs.Long(true, false) {
		_, again, _ := output(t)
		assert.Equal(t, out, again)
	}
}

// If more codes are to be sent than the mailing leaves room for, each quota of the contract is used
// to the last message, and none is exceeded. The mailing has returned the part of its share that it
// was granted and could not use.
func TestTheContractIsUsedUp(t *testing.T) {
	o := options{mailing: 100_000_000, codes: 100, days: 1}
	g, err := newGateway(o)
	require.NoError(t, err)
	require.NoError(t, g.work(t.Context(), start.Add(10*time.Hour)))
	assert.Equal(t, []int{300, 15_750, 157_500, 157_500, 157_500}, g.provider.most)
	assert.Zero(t, g.provider.refused)
	sent := o.mailing - g.left
	look, err := g.mailing.Take(t.Context(), account, 0)
	require.NoError(t, err)
	assert.LessOrEqual(t, sent, 126_000)
	assert.LessOrEqual(t, look.Limit-look.Remaining, 240, "of the minute")

	require.NoError(t, g.work(t.Context(), start.Add(24*time.Hour)))
	assert.Equal(t, []int{300, 15_750, 300_000, 300_000, 300_000}, g.provider.most)
	assert.Zero(t, g.provider.refused)
}

// The provider of the simulation does refuse what is too much.
func TestTheProviderCounts(t *testing.T) {
	p := newProvider(&clock{now: start})
	p.send(300)
	p.send(1)
	assert.Equal(t, 1, p.refused)
	p.clock.sleep(time.Minute)
	p.send(1)
	assert.Equal(t, 1, p.refused)
	assert.Equal(t, []int{300, 301, 301, 301, 301}, p.most)
}

func TestStartOf(t *testing.T) {
	now := time.Date(2026, time.October, 11, 22, 33, 44, 55, time.UTC) // a Sunday
	for unit, want := range map[weir.Unit]string{
		weir.Minute: "10-11 22:33",
		weir.Hour:   "10-11 22:00",
		weir.Day:    "10-11 00:00",
		weir.Week:   "10-05 00:00",
		weir.Month:  "10-01 00:00",
	} {
		assert.Equal(t, want, startOf(unit, now).Format("01-02 15:04"), unit)
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-codes 0":  `invalid value "0" for flag -codes: must be a whole number from 1 to 1000`,
		"-days x":   "must be a whole number from 1 to 365",
		"-mailing":  "needs an argument",
		"something": `argument "something", must be none`,
	} {
		code, out, stderr := output(t, strings.Fields(args)...)
		assert.Equal(t, 2, code)
		assert.Empty(t, out)
		assert.Contains(t, stderr, want)
	}
	code, out, _ := output(t, "-h")
	assert.Zero(t, code)
	assert.Contains(t, out, "-codes")
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, stderr bytes.Buffer
	assert.Equal(t, 1, run(ctx, nil, &out, &stderr))
	assert.Contains(t, stderr.String(), context.Canceled.Error())
	assert.Contains(t, out.String(), "sent 0 of")
}
