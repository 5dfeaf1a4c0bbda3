package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-go/weir/fleet"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A member keeps a session in etcd, and tells Shares its place among all sessions.
//
// A session is a key with a lease. Its value is the latest session that the member counts: the
// revision that created it. A member that joins waits until all that were there before it count it.
type member struct {
	client *clientv3.Client
	prefix string        // of the keys
	ttl    time.Duration // of the lease
	shares *fleet.Shares
	report func(fleet.Membership) // of a change
	fault  func(error)            // that a session ended, or that etcd does not answer

	lease    clientv3.LeaseID
	key      string
	joined   int64     // the revision that created key
	counts   int64     // what etcd has as the value of key
	until    time.Time // the lease lasts at least until then
	sessions map[string]session
	told     fleet.Membership
}

var errExpired = errors.New("the session has expired")

// run takes part until ctx ends. If a session ends before, it starts another.
func (m *member) run(ctx context.Context) {
	for {
		err := m.attend(ctx)
		m.leave()
		if ctx.Err() != nil {
			return
		}
		m.fault(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(m.ttl / 10):
		}
	}
}

// attend starts a session, and keeps it until it expires or ctx ends.
func (m *member) attend(ctx context.Context) error {
	if err := m.join(ctx); err != nil {
		return err
	}
	beat := time.NewTicker(m.ttl / 4)
	defer beat.Stop()
	for {
		watch, stop, err := m.read(ctx)
		for err == nil {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case seen, ok := <-watch:
				if ok && seen.Err() == nil {
					err = m.see(ctx, seen.Events)
					continue
				}
				err = errUnseen
			case <-beat.C:
				err = m.renew(ctx)
			}
		}
		stop()
		if !errors.Is(err, errUnseen) {
			return err
		}
	}
}

// errUnseen is that changes may have been missed. They are then read anew.
var errUnseen = errors.New("the watch has ended")

// join makes the lease and its key. The lease lasts from when etcd makes it, which is not before the
// clock is read here.
func (m *member) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.ttl)
	defer cancel()
	sent := time.Now()
	lease, err := m.client.Grant(ctx, int64(m.ttl/time.Second))
	if err != nil {
		return fmt.Errorf("grant a lease: %w", err)
	}
	m.lease, m.until = lease.ID, sent.Add(time.Duration(lease.TTL)*time.Second)
	m.key = fmt.Sprintf("%s%016x", m.prefix, int64(lease.ID))
	put, err := m.client.Put(ctx, m.key, "0", clientv3.WithLease(m.lease))
	if err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	m.joined, m.counts = put.Header.Revision, 0
	return nil
}

// read reads all sessions, and watches what changes from then on.
func (m *member) read(ctx context.Context) (watch clientv3.WatchChan, stop func(), err error) {
	within, cancel := context.WithTimeout(ctx, m.ttl)
	defer cancel()
	all, err := m.client.Get(within, m.prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, func() {}, fmt.Errorf("read the sessions: %w", err)
	}
	m.sessions = map[string]session{}
	for _, kv := range all.Kvs {
		m.sessions[string(kv.Key)] = sessionOf(kv)
	}
	ctx, stop = context.WithCancel(ctx)
	watch = m.client.Watch(ctx, m.prefix, clientv3.WithPrefix(), clientv3.WithRev(all.Header.Revision+1))
	return watch, stop, m.apply(ctx)
}

// see takes note of changes.
func (m *member) see(ctx context.Context, events []*clientv3.Event) error {
	for _, e := range events {
		if e.Type == clientv3.EventTypeDelete {
			delete(m.sessions, string(e.Kv.Key))
		} else {
			m.sessions[string(e.Kv.Key)] = sessionOf(e.Kv)
		}
	}
	return m.apply(ctx)
}

func sessionOf(kv *mvccpb.KeyValue) session {
	counts, _ := strconv.ParseInt(string(kv.Value), 10, 64) // 0, which counts none, if it is no number
	return session{joined: kv.CreateRevision, counts: counts}
}

// renew prolongs the lease. While etcd does not answer, the lease may still last.
func (m *member) renew(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, m.ttl/4)
	defer cancel()
	sent := time.Now()
	alive, err := m.client.KeepAliveOnce(within, m.lease)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return errExpired
	case err != nil && ctx.Err() == nil:
		m.fault(fmt.Errorf("prolong the session: %w", err))
		return nil
	case err != nil:
		return err
	}
	m.until = sent.Add(time.Duration(alive.TTL) * time.Second)
	return m.apply(ctx)
}

// apply sets the membership, and then tells the others whom this member counts. They rely on it, so
// the order matters.
func (m *member) apply(ctx context.Context) error {
	if _, ok := m.sessions[m.key]; !ok {
		return errExpired
	}
	now := membership(m.sessions, m.key)
	m.set(now)
	latest := latest(m.sessions)
	if latest <= m.counts {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, m.ttl/4)
	defer cancel()
	told, err := m.client.Txn(within).
		If(clientv3.Compare(clientv3.CreateRevision(m.key), "=", m.joined)). // a session that has ended stays so
		Then(clientv3.OpPut(m.key, strconv.FormatInt(latest, 10), clientv3.WithLease(m.lease))).
		Commit()
	switch {
	case err != nil && ctx.Err() == nil: // and is tried again when the lease is prolonged
		m.fault(fmt.Errorf("tell that the latest session is known: %w", err))
	case err == nil && !told.Succeeded:
		return errExpired
	case err == nil:
		m.counts = latest
	}
	return nil
}

func (m *member) set(now fleet.Membership) {
	if now != m.told {
		m.report(now)
	}
	m.told = now
	if now.Members > 0 {
		now.Until = m.until
	}
	if err := m.shares.Set(now); err != nil {
		m.fault(err)
	}
}

// leave gives up the share, and then the session. If etcd does not answer, the session expires.
func (m *member) leave() {
	m.set(fleet.Membership{})
	if m.lease == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = m.client.Revoke(ctx, m.lease)
	m.lease = 0
}
