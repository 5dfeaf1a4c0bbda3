package iolimit_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/iolimit"
)

// A download of one user gets 1000 bytes a second, and 500 at once.
func ExampleNewWriter() {
	perUser := weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 500}))

	var response strings.Builder
	w := iolimit.NewWriter(context.Background(), &response, iolimit.Limit{Limiter: perUser, Key: "ada"})
	start := time.Now()
	n, err := io.Copy(w, strings.NewReader(strings.Repeat("x", 600)))
	fmt.Println(n, err, time.Since(start) >= 100*time.Millisecond)
	// Output: 600 <nil> true
}

// A Reader counts what it has read.
func ExampleNewReader() {
	uploads := weir.Must(weir.New(weir.FixedWindow{Limit: 1 << 20, Per: 24 * time.Hour, FromFirst: true}))

	r := iolimit.NewReader(context.Background(), strings.NewReader("hello"), iolimit.Limit{Limiter: uploads, Key: "ada"})
	body, err := io.ReadAll(r)
	fmt.Printf("%s %v\n", body, err)
	left, _ := uploads.Take(context.Background(), "ada", 0)
	fmt.Println(left.Limit - left.Remaining)
	// Output:
	// hello <nil>
	// 5
}

// limitedListener limits what its connections send: each client, and all together.
type limitedListener struct {
	net.Listener
	perClient, all *weir.KeyedLimiter
}

func (l limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	client, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	return iolimit.NewConn(c, nil, []iolimit.Limit{
		{Limiter: l.perClient, Key: client}, // the narrow limit first
		{Limiter: l.all},
	}), nil
}

// A server limits all connections by a listener of its own.
func ExampleNewConn() {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	l := limitedListener{
		Listener:  inner,
		perClient: weir.Must(weir.New(weir.TokenBucket{Limit: 1 << 20, Per: time.Second})),
		all:       weir.Must(weir.New(weir.TokenBucket{Limit: 100 << 20, Per: time.Second})),
	}
	defer l.Close()
	go func() {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			_, _ = io.Copy(c, c)
		}
	}()
	c, err := l.Accept() // http.Serve(l, handler) does this
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, err = io.WriteString(c, "hello")
	fmt.Println(err)
	// Output: <nil>
}
