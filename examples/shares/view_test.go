package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/weir-go/weir/fleet"
)

func TestMembership(t *testing.T) {
	all := map[string]session{
		"first":  {joined: 10, counts: 30},
		"second": {joined: 20, counts: 20},
		"third":  {joined: 30, counts: 0},
	}
	assert.Equal(t, fleet.Membership{Members: 3, Index: 0}, membership(all, "first"))
	assert.Equal(t, fleet.Membership{Members: 3, Index: 1}, membership(all, "second"))
	assert.Zero(t, membership(all, "third"), "the second does not count it")
	assert.EqualValues(t, 30, latest(all))

	all["second"] = session{joined: 20, counts: 30}
	assert.Equal(t, fleet.Membership{Members: 3, Index: 2}, membership(all, "third"))
	delete(all, "first")
	assert.Equal(t, fleet.Membership{Members: 2, Index: 1}, membership(all, "third"))
}
