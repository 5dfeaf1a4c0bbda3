package storetest_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A RemoteServer keeps states, and decides for clients that call it over TCP. It drops expired
// states by real time. It is in the process of its test, so calls name plans by numbers.
type RemoteServer struct {
	addr string
	now  time.Time     // its clock, if it has one of its own
	keep time.Duration // how much longer than needed it keeps a state

	mu     sync.Mutex
	plans  map[*weir.Plan]int
	byID   []*weir.Plan
	states map[stateID]remoteState
	spaces int
}

type remoteState struct {
	weir.Ledger
	drop time.Time // zero for never
}

// A RemoteCall is a weir.Request as it is sent. The slices that the request points to are sent
// separately.
type RemoteCall struct {
	Plan                   int
	Key                    string
	Ask                    weir.Ask
	Forget                 bool
	Now                    int64 // of the limiter's clock; 0 if the server has its own
	WantCharges, WantParts bool
	Charges                []weir.Charge
}

// A RemoteReply is the answer.
type RemoteReply struct {
	Answer  weir.Answer
	Charges []weir.Charge
	Parts   []weir.Result
}

func newRemoteServer(t *testing.T) *RemoteServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &RemoteServer{addr: l.Addr().String(), plans: map[*weir.Plan]int{}, states: map[stateID]remoteState{}}
	server := rpc.NewServer()
	require.NoError(t, server.RegisterName("Store", &remoteMethods{s}))
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go server.ServeConn(conn)
		}
	}()
	return s
}

// remoteMethods are what clients can call.
type remoteMethods struct{ server *RemoteServer }

func (m *remoteMethods) Do(call RemoteCall, reply *RemoteReply) error {
	s := m.server
	s.mu.Lock()
	defer s.mu.Unlock()
	plan, now, own := s.byID[call.Plan], call.Now, !s.now.IsZero()
	if own {
		now = s.now.UnixNano()
	}
	id := stateID{plan.Name, call.Key}
	if call.Forget {
		delete(s.states, id)
		return nil
	}
	st := s.states[id]
	if !st.drop.IsZero() && !time.Now().Before(st.drop) {
		st = remoteState{}
	}
	if call.WantCharges {
		call.Ask.Charges = &call.Charges
	}
	if call.WantParts {
		call.Ask.ByComponent = &reply.Parts
	}
	next, a, changed, err := st.Decide(weir.Rule{Policy: plan.Policy, Decider: plan.Decider}, now, call.Ask)
	if changed {
		st = remoteState{Ledger: next}
		if at := next.Expiry(); at != math.MaxInt64 {
			st.drop = time.Now().Add(time.Duration(max(at-now, 0))).Add(s.keep)
		}
		s.states[id] = st
	}
	reply.Answer, reply.Charges = a, call.Charges
	reply.Answer.At, reply.Answer.ServerTime = now, own
	return err
}

// number returns the number of a plan.
func (s *RemoteServer) number(p *weir.Plan) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.plans[p]
	if !ok {
		n = len(s.byID)
		s.plans[p], s.byID = n, append(s.byID, p)
	}
	return n
}

// space returns a prefix for the keys of a store.
func (s *RemoteServer) space() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spaces++
	return fmt.Sprintf("%08d", s.spaces)
}

// sharing returns another store that shares the states of s.
func (s *RemoteStore) sharing(t *testing.T) *RemoteStore {
	another := newRemoteStore(t, s.server, s.server.addr)
	another.space = s.space
	return another
}

func (s *RemoteServer) setClock(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

func (s *RemoteServer) hasClock() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.now.IsZero()
}

// A RemoteStore asks a RemoteServer, or a proxy in front of it.
type RemoteStore struct {
	server *RemoteServer
	addr   string
	space  string // in front of all keys, of one length
	direct bool   // without TCP

	mu     sync.Mutex
	client *rpc.Client // nil if there is no connection
}

// newRemoteStore returns a store that shares no state with earlier ones. It is called where
// storetest makes a store. The tests that call it are in docs/stores.md, word for word.
func newRemoteStore(t *testing.T, server *RemoteServer, addr string) *RemoteStore {
	runs.Short(t, runs.Server)
	// The way through TCP takes longer, so only the cases take it that break something.
	s := &RemoteStore{server: server, addr: addr, space: server.space(), direct: !strings.Contains(t.Name(), "/Failures:_")}
	t.Cleanup(func() { s.drop(s.client) })
	return s
}

// Do implements weir.Store. It never sends a request twice.
func (s *RemoteStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	call := RemoteCall{
		Plan: s.server.number(r.Plan), Key: s.space + r.Key, Ask: r.Ask, Forget: r.Forget,
		WantCharges: r.Charges != nil, WantParts: r.ByComponent != nil,
	}
	if call.WantCharges {
		call.Charges = slices.Clone(*r.Charges)
	}
	if !s.server.hasClock() {
		call.Now = r.Now()
	}
	call.Ask.Charges, call.Ask.ByComponent = nil, nil
	var reply RemoteReply
	if err := s.send(ctx, call, &reply); err != nil {
		return weir.Answer{}, err
	}
	if r.Charges != nil && r.N > 0 {
		*r.Charges = reply.Charges
	}
	if r.ByComponent != nil && reply.Parts != nil {
		*r.ByComponent = reply.Parts
	}
	return reply.Answer, nil
}

// send makes a call, and waits for the reply until ctx ends.
func (s *RemoteStore) send(ctx context.Context, call RemoteCall, reply *RemoteReply) error {
	if s.direct {
		return (&remoteMethods{s.server}).Do(call, reply)
	}
	client, err := s.connect()
	if err != nil {
		return err
	}
	select {
	case done := <-client.Go("Store.Do", call, reply, make(chan *rpc.Call, 1)).Done:
		if done.Error != nil {
			s.drop(client)
		}
		return done.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *RemoteStore) connect() (*rpc.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		client, err := rpc.Dial("tcp", s.addr)
		if err != nil {
			return nil, err
		}
		s.client = client
	}
	return s.client, nil
}

// drop gives up a connection.
func (s *RemoteStore) drop(client *rpc.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client != nil && client == s.client {
		s.client = nil
		client.Close()
	}
}
