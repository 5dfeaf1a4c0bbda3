package faultproxy_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weir-go/weir/storetest/faultproxy"
)

// A test checks the timeout of a client with a server that hangs.
func Example() {
	TestTimeout := func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		defer server.Close()
		proxy := faultproxy.New(t, server.Listener.Addr().String(), nil)
		client := http.Client{Timeout: 50 * time.Millisecond}

		proxy.Stall()
		if _, err := client.Get("http://" + proxy.Addr()); err == nil {
			t.Error("a reply while the server hangs")
		}

		proxy.Forward()
		client.Timeout = time.Minute
		response, err := client.Get("http://" + proxy.Addr())
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	_ = TestTimeout
}

// The function passed to New finds the ends of requests, here of lines. One call of Write may then
// send many requests, and the proxy loses the reply to one of them.
func ExampleNew() {
	lines := func(data []byte, _ bool) (advance int, token []byte, err error) {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			return 0, nil, nil // the end of the line is still to come
		}
		return end, data[:end], nil
	}
	TestLostReply := func(t *testing.T) {
		proxy := faultproxy.New(t, "localhost:11211", lines)
		proxy.LoseReplies(1, func(request []byte) bool { return bytes.HasPrefix(request, []byte("incr ")) })
	}
	_ = TestLostReply
}
