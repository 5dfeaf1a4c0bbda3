// Package lincheck checks that the steps of a store are linearizable: the answers that concurrent
// callers got are also the answers to the same steps, one after another, in some order. A step that
// ended before another began comes first in that order. The package has only tests, and is a module
// of its own because they use a checker from another module.
package lincheck
