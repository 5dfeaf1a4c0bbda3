package pgtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The programs are those of the newest release.
func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	pattern := filepath.Join(dir, "*", "bin")
	_, err := find(pattern, "/none")
	assert.EqualError(t, err, "no postgres in PATH or in "+pattern+" or /none")
	for _, release := range []string{"9", "15", "14"} {
		folder := filepath.Join(dir, release, "bin")
		require.NoError(t, os.MkdirAll(folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "postgres"), nil, 0o700))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "16", "bin"), 0o700)) // of a client, without a server
	found, err := find(pattern)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "15", "bin"), found)

	t.Setenv("PATH", filepath.Join(dir, "9", "bin"))
	found, err = find(pattern)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "9", "bin"), found, "PATH comes first")
}
