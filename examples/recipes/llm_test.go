package recipes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// newModelClient returns a client for the SDK of a language model. It keeps to the requests that
// the provider allows, and holds all requests back when the provider says that nothing remains.
func newModelClient() *http.Client {
	return &http.Client{Transport: &httplimit.Transport{
		Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: 500, Per: time.Minute})),
		Hold:    httplimit.UsedUp, // also reads the fields of OpenAI and Anthropic
	}}
}

// ask takes the tokens of an answer from a tenant's budget. Until the answer has come, it books the
// most that the answer can take.
func ask(ctx context.Context, client *http.Client, budget *weir.KeyedLimiter, tenant, prompt string, most int) (string, error) {
	var booked weir.Reservation
	switch err := budget.ReserveNow(ctx, tenant, most, &booked, nil); {
	case err != nil:
		return "", err
	case booked.RetryAfter == weir.Never:
		return "", fmt.Errorf("up to %d tokens: %w", most, weir.ErrNeverFits)
	case !booked.Allowed:
		return "", fmt.Errorf("no tokens left, try again in %v: %w", booked.RetryAfter, errBudget)
	}
	defer booked.Cancel(ctx) // if there is no answer; does nothing after Settle
	text, used, err := complete(ctx, client, prompt, most)
	if err != nil {
		return "", err
	}
	return text, booked.Settle(ctx, used)
}

var errBudget = errors.New("over the budget")

// A completion is the answer of a model.
type completion struct {
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
}

// complete asks a model. A program calls the SDK of its provider, which gets the client.
func complete(ctx context.Context, client *http.Client, prompt string, most int) (text string, used int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, prompt+"?most="+strconv.Itoa(most), nil)
	if err != nil {
		return "", 0, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", 0, errors.New(resp.Status)
	}
	var c completion
	err = json.NewDecoder(resp.Body).Decode(&c)
	return c.Text, c.Tokens, err
}

func TestModel(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			w.Header().Set("X-RateLimit-Remaining-Tokens", "0")
			w.Header().Set("X-RateLimit-Reset-Tokens", "6m0s")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_ = json.NewEncoder(w).Encode(completion{"hello", 30})
	}))
	defer model.Close()
	transport := newModelClient().Transport.(*httplimit.Transport)
	client := &http.Client{Transport: transport}
	budget := weir.Must(weir.New(weir.CalendarWindow{Limit: 1000, Unit: weir.Month}))
	left := func() int {
		r, err := budget.Take(t.Context(), "ada", 0)
		require.NoError(t, err)
		return r.Remaining
	}

	text, err := ask(t.Context(), client, budget, "ada", model.URL, 400)
	require.NoError(t, err)
	assert.Equal(t, "hello", text)
	assert.Equal(t, 970, left(), "what it took")

	_, err = ask(t.Context(), client, budget, "ada", model.URL, 971)
	assert.ErrorIs(t, err, errBudget)
	_, err = ask(t.Context(), client, budget, "ada", model.URL, 1001)
	assert.ErrorIs(t, err, weir.ErrNeverFits, "it need not be tried again")

	bucket := weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Hour}))
	_, err = bucket.Take(t.Context(), "ada", 700)
	require.NoError(t, err)
	_, err = ask(t.Context(), client, bucket, "ada", model.URL, 400)
	assert.ErrorIs(t, err, errBudget, "a bucket books nothing ahead")

	_, err = ask(t.Context(), client, budget, "ada", model.URL+"/busy", 400)
	require.Error(t, err)
	assert.Equal(t, 970, left(), "nothing for no answer")
	u, err := url.Parse(model.URL)
	require.NoError(t, err)
	assert.Greater(t, time.Until(transport.HeldUntil(u.Host)), 5*time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = ask(ctx, client, budget, "ada", model.URL, 400)
	assert.ErrorIs(t, err, weir.ErrTooLate, "not sent")
}
