package storetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/internal/suite/runs"
)

// Stores choose cases by the beginnings of their names.
func TestCasesChosenByStoresExist(t *testing.T) {
	for _, name := range slices.Concat(runs.Server, runs.Clock, runs.Dear) {
		assert.True(t, slices.ContainsFunc(testCases(), func(c testCase) bool { return strings.HasPrefix(c.name, name) }),
			"no case is called %q", name)
	}
}
