package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// Two servers, one after the other, grant many connections what one would have granted, to the event.
func TestRestartUnderLoad(t *testing.T) {
	t.Parallel()
	half := runs.Long(time.Second, runs.InCI(300*time.Millisecond, 150*time.Millisecond))
	s, first := startQuickly(t, func() []string { return []string{"-log", "error", "-state", filepath.Join(t.TempDir(), "limits")} })
	api := &hammer{connections: 16, method: http.MethodGet, earned: earnedByAPI}
	login := &hammer{connections: 4, method: http.MethodPost, body: "user=ada&password=lovelace"}
	api.add(first)
	ask := func() {
		api.url, login.url = s.url+"/api/items", s.url+"/login"
		ctx, cancel := context.WithTimeout(t.Context(), half)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			login.run(ctx, t)
		}()
		api.run(ctx, t)
		<-done
	}
	ask()
	require.NoError(t, s.stop(os.Interrupt))
	s = start(t, s.args...)
	ask()

	var least, most int
	for tries := 0; ; tries++ { // as in TestSoak
		require.Less(t, tries, 10_000, "requests take too long to tell what is allowed")
		a := s.get(t, "/api/items")
		api.add(a)
		r, _ := onlyLimit(t, a, "api")
		least = apiPolicy.Burst + api.earned(api.lastSent.Sub(api.firstReceived))
		most = apiPolicy.Burst + api.earned(api.lastReceived.Sub(api.firstSent))
		if r == 0 && least == most {
			break
		}
	}
	assert.LessOrEqual(t, api.granted, most)
	if !api.full {
		assert.Equal(t, most, api.granted)
	} // else the machine stood still, or the restart took so long, that the bucket may have been full
	t.Logf("/api/items: %d asked in %v, %d granted, %d allowed by the policy",
		api.asked, api.lastReceived.Sub(api.firstSent).Round(time.Millisecond), api.granted, most)

	if login.lastReceived.Sub(login.firstSent) < time.Minute {
		assert.Equal(t, loginPolicy.Limit, login.granted)
	} // else the first has left the log
}

// The file can be read by its owner alone. One that is damaged is logged, and replaced at the end.
// A folder that is not there is an error at the end.
func TestState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits")
	s := start(t, "-state", path)
	for range loginPolicy.Limit {
		require.Equal(t, http.StatusOK, s.login(t, "ada", "lovelace").status)
	}
	require.NoError(t, s.stop(os.Interrupt))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	s = start(t, "-state", path)
	assert.Equal(t, http.StatusTooManyRequests, s.login(t, "ada", "lovelace").status)
	require.NoError(t, s.stop(os.Interrupt))

	require.NoError(t, os.Truncate(path, info.Size()-1))
	s = start(t, "-state", path)
	assert.Contains(t, s.out.String(), "limits start anew")
	assert.Equal(t, http.StatusOK, s.login(t, "ada", "lovelace").status)
	require.NoError(t, s.stop(os.Interrupt))
	others, err := filepath.Glob(path + ".*")
	require.NoError(t, err)
	assert.Empty(t, others, "temporary files")
	s = start(t, "-state", path)
	assert.NotContains(t, s.out.String(), "limits start anew")

	s = start(t, "-state", filepath.Join(path+"-none", "limits"))
	require.ErrorContains(t, s.stop(os.Interrupt), "no such file or directory")
}
