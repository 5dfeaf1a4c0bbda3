package replay

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// madeLog is what writeMade writes.
func madeLog(requests, clients int) []byte {
	var b bytes.Buffer
	writeMade(&b, requests, clients)
	return b.Bytes()
}

// writeMade writes a Combined log of requests by clients, the same for the same arguments. Some
// clients send many, most a few. Lines stand in the order of their answers.
func writeMade(w io.Writer, requests, clients int) {
	rnd := rand.New(rand.NewPCG(1, 2))
	some := rand.NewZipf(rnd, 1.1, 20, uint64(clients-1))
	at := time.Date(2026, 10, 10, 0, 0, 0, 0, time.UTC)
	step := 24 * time.Hour / time.Duration(requests)
	for i := range requests {
		c := some.Uint64()
		if rnd.IntN(4) == 0 {
			c = rnd.Uint64N(uint64(clients))
		}
		at = at.Add(time.Duration(rnd.Int64N(int64(2 * step))))
		sent := at.Add(-time.Duration(rnd.Int64N(int64(2 * time.Second))))
		fmt.Fprintf(w, "10.%d.%d.%d - - [%s] \"GET /item/%d?page=2 HTTP/1.1\" 200 %d \"https://example.com/\" "+
			"\"Mozilla/5.0 (X11; Linux x86_64; rv:130.0) "+
			"Gecko/20100101 Firefox/130.0\"\n",
			c>>16, c>>8&255, c&255, sent.Format("02/Jan/2006:15:04:05 -0700"), i, rnd.IntN(90000))
	}
}

func logOf(name string, b []byte) Log {
	return Log{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }}
}
