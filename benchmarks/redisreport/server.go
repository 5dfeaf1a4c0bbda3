package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/internal/test/tied"
)

// A server is a redis-server of our own, that keeps nothing on disk.
type server struct {
	addr  string
	admin *redis.Client
	dir   string
	cmd   *exec.Cmd
}

func startServer() (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("a real Redis is what this measures: install redis-server, such that it is in PATH: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close() // the port stays free for a moment
	_, port, _ := net.SplitHostPort(addr)
	dir, err := os.MkdirTemp("", "redisreport")
	if err != nil {
		return nil, err
	}
	s := &server{addr: addr, dir: dir, admin: redis.NewClient(&redis.Options{Addr: addr})}
	s.cmd = exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
		"--dir", dir, "--logfile", filepath.Join(dir, "log"))
	if err := tied.Start(s.cmd); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := s.admin.Ping(context.Background()).Err()
		if err == nil {
			return s, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("redis-server does not answer: %w", err), s.stop())
		}
	}
}

func (s *server) stop() error {
	return errors.Join(s.admin.Close(), s.cmd.Process.Kill(), ignoreExit(s.cmd.Wait()), os.RemoveAll(s.dir))
}

// ignoreExit is for a process that was killed.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// usage is the processor time that a server has used, in seconds.
type usage struct {
	process  float64 // by the whole process
	scripts  float64 // to execute scripts,
	runs     float64 // so many of them
	commands float64 // to execute commands, be it in scripts
}

// usage asks for it.
func (s *server) usage() (u usage, err error) {
	info, err := s.admin.InfoMap(context.Background(), "cpu", "commandstats").Result()
	if err != nil {
		return u, err
	}
	for _, section := range info {
		for name, value := range section {
			switch {
			case name == "used_cpu_user" || name == "used_cpu_sys":
				seconds, err := strconv.ParseFloat(value, 64)
				if err != nil {
					return u, err
				}
				u.process += seconds
			case strings.HasPrefix(name, "cmdstat_eval"):
				u.scripts += stat(value, "usec=") / 1e6
				u.runs += stat(value, "calls=")
			case strings.HasPrefix(name, "cmdstat_") && name != "cmdstat_info":
				u.commands += stat(value, "usec=") / 1e6
			}
		}
	}
	return u, nil
}

// stat takes a number from a line of commandstats: calls=1,usec=2,…
func stat(line, name string) float64 {
	_, n, _ := strings.Cut(line, name)
	n, _, _ = strings.Cut(n, ",")
	v, _ := strconv.ParseFloat(n, 64)
	return v
}

// bytes is the memory of all keys of a database.
func (s *server) bytes(db database) (all int64, err error) {
	ctx := context.Background()
	client := newGoRedis(db)
	defer client.Close()
	keys := client.Scan(ctx, 0, "", 1000).Iterator()
	for keys.Next(ctx) {
		n, err := client.MemoryUsage(ctx, keys.Val(), 0).Result()
		if err != nil && !errors.Is(err, redis.Nil) { // nil: the key has expired by now
			return 0, err
		}
		all += n
	}
	return all, keys.Err()
}

func (s *server) flush() error { return s.admin.FlushAll(context.Background()).Err() }

func (s *server) version() string {
	info, _ := s.admin.InfoMap(context.Background(), "server").Result()
	return info["Server"]["redis_version"]
}
