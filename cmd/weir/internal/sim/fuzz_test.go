package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A link may have any text. It is either refused, or a scenario that can be simulated, and that has
// one text.
func FuzzParse(f *testing.F) {
	for _, e := range Experiments {
		f.Add(e.Query)
	}
	f.Add("p=fixed-window+5/1m~8s~5/s&p=all(1/s,%209/1h)&r=5x3,40.25&x=poisson&b=8s:20&o=4s-5s&c=mixed&t=1m30s&m=2s")
	f.Add("p=1/s&r=1e6,0x1p-3&t=1ms&b=0s:1&o=0s-1us")
	f.Fuzz(func(t *testing.T, query string) {
		s, err := Parse(query)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		text := s.Query()
		again, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, s, again)
		r, err := New(again)
		require.NoError(t, err)
		require.NoError(t, r.Advance(again.Span/100))
	})
}
