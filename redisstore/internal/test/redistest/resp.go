package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// A replyError is a reply that is an error, such as "ERR unknown command".
type replyError string

func (e replyError) Error() string { return string(e) }

// roundTrip sends one command on a connection of its own and reads the reply. Clients with a pool,
// retries and dialing in the background would tell what a server was like a while ago.
func roundTrip(addr string, within time.Duration, args []string) (any, error) {
	conn, err := net.DialTimeout("tcp4", addr, within)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(appendCommand(nil, args)); err != nil {
		return nil, err
	}
	reply, err := readValue(bufio.NewReader(conn))
	if err != nil {
		return nil, err
	}
	if err, ok := reply.(replyError); ok {
		return nil, err
	}
	return reply, nil
}

// appendCommand appends a command as clients send it: an array of strings.
func appendCommand(b []byte, args []string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}

// readCommand reads what appendCommand wrote.
func readCommand(r *bufio.Reader) ([]string, error) {
	v, err := readValue(r)
	if err != nil {
		return nil, err
	}
	items, _ := v.([]any)
	args := make([]string, len(items))
	for i, item := range items {
		args[i], _ = item.(string)
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("%v is no command", v)
	}
	return args, nil
}

// readValue reads a value of version 2 of the protocol: string, int64, replyError, nil, or []any.
func readValue(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("%q is no value", line)
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return replyError(rest), nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no value", line)
	case kind == ':':
		return n, nil
	case n == -1 && (kind == '$' || kind == '*'):
		return nil, nil
	case n < 0 || n > 512<<20:
		return nil, fmt.Errorf("%q is no length", line)
	case kind == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(r, b)
		return string(b[:n]), err
	case kind == '*':
		items := []any{}
		for range n {
			item, err := readValue(r)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("in an array of %d", n), err)
			}
			items = append(items, item)
		}
		return items, nil
	}
	return nil, fmt.Errorf("%q is no value", line)
}
